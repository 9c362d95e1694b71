"""The ``Jdbc`` source and sink for databases, which do not need JDBC driver JARs."""
