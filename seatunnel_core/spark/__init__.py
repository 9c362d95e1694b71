"""Spark backend: runs task batches of work units on PySpark, without knowledge of the checkpoint protocol."""
