"""Shared parts of the sources for change data capture: selection of tables, chunks of a snapshot, changed rows.

Each source has its own log reader and its own snapshot marks.
"""
