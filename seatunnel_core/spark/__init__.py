"""The Spark backend: runs task batches of work units on PySpark.

This package does not know the checkpoint protocol, and no other package imports Spark.
"""
