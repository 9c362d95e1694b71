"""Reader of PostgreSQL's logical replication: from a replication slot (``pgoutput``) to Arrow batches of transactions.

``slot_reader`` reads ranges of a slot, ``slots`` and ``publications`` manage what a server keeps, ``snapshot_mark``
decides which transactions a snapshot contains. Nothing here belongs to the engine, and nothing starts a thread.
"""
