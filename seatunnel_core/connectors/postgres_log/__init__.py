"""Reader for PostgreSQL logical replication: from a slot (``pgoutput``) to Arrow batches of transactions.

``slot_reader`` reads ranges of a slot, ``slots`` and ``publications`` manage objects on the server, and
``snapshot_mark`` determines which transactions a snapshot contains. This package does not depend on the engine and
starts no threads.
"""
