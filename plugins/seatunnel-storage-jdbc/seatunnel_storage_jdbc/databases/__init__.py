"""Differences between databases: one ``Dialect`` for each."""
