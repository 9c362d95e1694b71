"""The checkpoint protocol: one coordinator per pipeline, and the vertices that it checkpoints.

Pure: events go in, commands come out. Nothing here reads a clock, opens a file or starts a thread. What carries the
commands out is in ``runtime``; what judges who may run a job is in ``claiming``.
"""
