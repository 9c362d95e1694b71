"""The ``Jdbc`` source and sink for databases. They need no JDBC driver jars."""
