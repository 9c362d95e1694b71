"""Execution of a planned and claimed job: runs the commands of the checkpoint protocol."""
