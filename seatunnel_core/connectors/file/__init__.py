"""File connectors: a source and a sink for each file system, and the options that they share."""
