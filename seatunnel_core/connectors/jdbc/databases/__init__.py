"""The databases: a ``Dialect`` for each, its values and its sessions. The rest of the connector knows none by name."""
