"""Checkpoint protocol: one coordinator per pipeline, and the vertices that it checkpoints.

Pure: it receives events and returns commands. It reads no clock, opens no file and starts no thread. ``runtime``
executes the commands; ``claiming`` decides which process may run a job.
"""
