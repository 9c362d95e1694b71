"""``seatunnel iceberg``: maintenance of Apache Iceberg tables."""
