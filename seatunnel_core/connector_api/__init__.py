"""The interface of connectors: everything that an author of a source, sink or transform imports.

``__all__`` of each module lists its stable names. The package contains no Spark and nothing of the engine.
"""
