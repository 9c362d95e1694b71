"""Parts that all sources of change data capture share: choice of tables, chunks of a snapshot, rows of the log.

Databases differ in their logs and in the marks of their snapshots; those belong to each source.
"""
