"""Supported databases: a ``Dialect`` for each, with the conversion of values and the setup of sessions."""
