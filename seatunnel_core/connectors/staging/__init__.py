"""Staged files: their names, their staging folder, their publication and cleanup.

Shared by every sink that publishes files: the file connectors, Iceberg, Kafka and Spark.
"""
