"""Execution of a planned and claimed job: the protocol's commands on storages, sources, sinks and Spark."""
