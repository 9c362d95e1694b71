"""The Spark backend, which runs batches of work units on PySpark.

Nothing here knows the checkpoint protocol, and no other package imports Spark.
"""
