"""Staged files: their names, their staging folder, and how they are published once and swept.

Shared by every sink that publishes files: the file connectors, Iceberg, Kafka and Spark.
"""
