"""The sink ``DuckDB``: tasks stage rows as Parquet, and the driver, the one writer of the file, takes them in."""
