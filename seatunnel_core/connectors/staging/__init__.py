"""Staged files: how they are named, where they wait for their checkpoint, how they are published once and swept.

Shared by every sink that publishes files: the file connectors, Iceberg, Kafka and Spark.
"""
