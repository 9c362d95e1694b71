"""Supported databases: a ``Dialect`` for each, with the conversion of values and the setup of sessions.

Other packages do not import the modules directly.
"""
