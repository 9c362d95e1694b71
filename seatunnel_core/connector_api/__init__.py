"""Connector interface: everything that authors of sources, sinks and transforms import.

``__all__`` of each module lists its stable names. The package imports neither Spark nor the engine.
"""
