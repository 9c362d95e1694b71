"""The transform ``Sql``: SeaTunnel's SQL dialect, compiled for DataFusion. ``functions`` contains the functions."""
