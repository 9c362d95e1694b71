"""File connectors: a source and a sink for each file system, and their common options."""
