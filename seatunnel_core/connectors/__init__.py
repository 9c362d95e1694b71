"""The connectors of the engine."""
