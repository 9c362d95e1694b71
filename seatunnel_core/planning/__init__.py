"""Planning: from the blocks of a job file to options, schemas, guarantees and operator chains; ``--check``.

Nothing here moves rows or writes checkpoints.
"""
