"""Differences between databases: a ``Dialect`` for each."""
