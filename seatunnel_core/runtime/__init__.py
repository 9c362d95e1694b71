"""Running a planned and claimed job: threads, pipelines, epochs and slots.

The commands of the protocol are carried out here, against storages, sources, sinks and Spark.
"""
