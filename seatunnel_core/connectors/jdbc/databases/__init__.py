"""Supported databases: a ``Dialect`` for each, with its values and sessions. No other package imports them by name."""
