"""Supported databases: for each a ``Dialect``, with its values and sessions.

Other packages do not import their modules directly.
"""
