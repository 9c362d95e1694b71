"""The ``MySQL-CDC`` and ``MariaDB-CDC`` sources, which read a snapshot of tables and then their changes."""
