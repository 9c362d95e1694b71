"""The ``DuckDB`` sink: tasks stage rows as Parquet, and the driver, the only writer of the file, loads them."""
