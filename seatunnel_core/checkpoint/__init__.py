"""Checkpoint protocol: one coordinator per pipeline, and the vertices that it checkpoints.

The protocol receives events and returns commands. It does no I/O, reads no clock and starts no thread. ``runtime``
executes the commands; ``claiming`` decides which process may run a job.
"""
