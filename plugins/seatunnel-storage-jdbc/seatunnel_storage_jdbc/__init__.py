"""The checkpoint storage of type ``jdbc``, in database tables, and the database access of other state.

``factory`` creates the storage of a configuration; ``database`` is the connection, which the cluster state also
uses. SQLAlchemy and the drivers are imported only when a database is opened.
"""
