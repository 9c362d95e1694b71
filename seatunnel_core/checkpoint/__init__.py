"""The checkpoint protocol: one coordinator per pipeline, and the vertices that it checkpoints.

Pure: it receives events and returns commands. Nothing here reads a clock, opens a file or starts a thread. ``runtime``
executes the commands; ``claiming`` decides which process may run a job.
"""
