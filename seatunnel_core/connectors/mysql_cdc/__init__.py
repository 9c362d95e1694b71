"""The sources ``MySQL-CDC`` and ``MariaDB-CDC``: a snapshot of tables, and then their changes."""
