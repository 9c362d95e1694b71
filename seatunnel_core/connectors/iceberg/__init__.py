"""The sink ``Iceberg``: rows appended to a table of Apache Iceberg through pyiceberg."""
