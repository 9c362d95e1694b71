"""Planning of a job: options, schemas, guarantees, operator chains, and ``--check``.

Planning moves no rows and writes no checkpoints.
"""
