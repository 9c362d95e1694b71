"""Spark backend: runs task batches of work units on PySpark. The checkpoint protocol is not known here."""
