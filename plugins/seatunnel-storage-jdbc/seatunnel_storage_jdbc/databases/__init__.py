"""What differs between the databases: a ``Dialect`` for each."""
