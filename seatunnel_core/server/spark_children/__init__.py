"""Spark's own standalone master and workers, from the pyspark wheel, as children of an agent."""
