"""Checkpoint storage of type ``jdbc``, in database tables, and shared database access.

``factory`` creates the storage for a configuration. ``database`` is the connection, which the cluster state also uses.
SQLAlchemy and the drivers are imported only when a database is opened.
"""
