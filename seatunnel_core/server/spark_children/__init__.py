"""Spark standalone masters and workers from the pyspark wheel, as child processes of an agent."""
