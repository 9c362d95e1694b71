"""The ``Iceberg`` source and sink: tables of Apache Iceberg, through pyiceberg."""
