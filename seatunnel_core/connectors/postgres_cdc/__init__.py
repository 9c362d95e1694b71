"""The source ``Postgres-CDC``: tables of PostgreSQL, first as a snapshot and then their changes.

The driver plans chunks of tables and ranges of the log; tasks read them. A chunk leaves a mark, which decides exactly
for each transaction of the log whether the chunk contains it.
"""
