"""The sources ``MySQL-CDC`` and ``MariaDB-CDC``: the rows of tables, and then every change of them."""
