"""``seatunnel iceberg``: maintenance of tables of Apache Iceberg."""
