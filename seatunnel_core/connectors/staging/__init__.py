"""Staged files: names, staging folders, publication and cleanup.

Shared by all sinks that stage files: the file connectors, Iceberg, Kafka and Spark.
"""
