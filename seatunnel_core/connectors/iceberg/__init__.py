"""The source and the sink ``Iceberg``: tables of Apache Iceberg, through pyiceberg."""
