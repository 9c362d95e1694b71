"""Spark backend: runs task batches of work units on PySpark. It does not depend on the checkpoint protocol."""
