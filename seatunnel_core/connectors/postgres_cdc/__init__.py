"""The ``Postgres-CDC`` source: a snapshot of PostgreSQL tables, and then their changes.

The driver plans chunks of tables and ranges of the log; tasks read them. The mark of a chunk determines for each
transaction of the log whether the chunk contains it.
"""
