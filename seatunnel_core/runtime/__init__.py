"""Running a planned and claimed job: threads, pipelines, epochs, slots, and the commands of the protocol carried out
against storages, sources, sinks and Spark."""
