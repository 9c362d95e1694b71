"""Checkpoint storage of type ``hdfs``."""
