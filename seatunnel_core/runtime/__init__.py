"""Execution of a planned and claimed job: threads, pipelines, epochs and slots.

This package executes the protocol's commands on storages, sources, sinks and Spark.
"""
