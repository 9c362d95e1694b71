"""Reader of MySQL and MariaDB binary logs: from the network stream to Arrow batches of changed rows.

``server_stream`` reads events from a server and ``log_file`` from a file. ``log_decoder`` decodes them to the objects
of ``change_batch``. ``captured_tables`` selects the captured tables. This package does not depend on the engine and
starts no threads.

Tested with MySQL 5.7.22, MySQL 8.0.15 and MariaDB 10.11. Implemented from the documentation and not tested with a
server: compressed transactions of MySQL 8.0.20 (``payload``), tagged GTIDs of MySQL 8.3, and newer servers in general.
"""
