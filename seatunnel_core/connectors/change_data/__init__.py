"""Parts that all sources of change data capture share: choice of tables, chunks of a snapshot, rows of the log.

Each source has its own code for the log and the marks of snapshots.
"""
