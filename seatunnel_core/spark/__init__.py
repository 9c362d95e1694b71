"""The data plane, which runs packets of work units on PySpark.

Nothing here knows the checkpoint protocol, and no other package imports Spark.
"""
