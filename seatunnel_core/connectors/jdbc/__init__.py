"""The source and the sink ``Jdbc`` for databases. They need no JDBC driver jars."""
