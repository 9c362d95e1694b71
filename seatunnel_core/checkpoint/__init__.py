"""The checkpoint protocol: one coordinator per pipeline, and the vertices that it checkpoints.

Pure: events go in, commands come out. Nothing here reads a clock, opens a file or starts a thread. ``runtime`` carries
the commands out; ``claiming`` judges which process may run a job.
"""
