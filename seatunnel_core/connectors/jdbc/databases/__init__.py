"""The databases: a ``Dialect`` for each, its values and its sessions; no other package imports them by name."""
