"""Connector interface: everything that the author of a source, sink or transform imports.

``__all__`` of each module lists its stable names. The package imports neither Spark nor the engine.
"""
