"""From the blocks of a job file to a plan: options, schemas, guarantees and programs, and ``--check``.

Nothing here moves rows or touches a checkpoint.
"""
