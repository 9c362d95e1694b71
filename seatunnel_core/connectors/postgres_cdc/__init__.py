"""The ``Postgres-CDC`` source, which reads a snapshot of PostgreSQL tables and then their changes.

The driver plans chunks of tables and ranges of the log, and tasks read them. The mark of a chunk is its snapshot, which
determines for each transaction of the log whether the chunk already contains it.
"""
