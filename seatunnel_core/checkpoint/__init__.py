"""Checkpoint protocol: one coordinator per pipeline, and the vertices that it checkpoints.

The protocol receives events and returns commands. It does not perform I/O, read the clock or start threads. ``runtime``
executes the commands; ``claiming`` decides which process may run a job.
"""
