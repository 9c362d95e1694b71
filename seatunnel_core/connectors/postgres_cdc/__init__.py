"""The source ``Postgres-CDC``: tables of PostgreSQL, first as a snapshot and then their changes.

The driver plans chunks of tables and ranges of the log; tasks read them. The mark of a chunk determines for each
transaction of the log whether the chunk contains it.
"""
