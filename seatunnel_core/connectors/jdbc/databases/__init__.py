"""Supported databases: a ``Dialect`` for each, which converts values and sets up sessions."""
