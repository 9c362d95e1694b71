"""The checkpoint storage of type ``jdbc``, in the tables of a database, and what else keeps its state in one.

``factory`` makes the storage of a configuration; ``database`` is the connection to it, which the state of a cluster
uses too. SQLAlchemy and the drivers are imported when a database is opened, not before.
"""
