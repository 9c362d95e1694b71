"""The source and the sink ``Jdbc`` for databases; no JDBC driver jars are needed."""
