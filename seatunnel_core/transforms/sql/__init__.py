"""The transform ``Sql``: SeaTunnel's dialect, compiled for DataFusion. The functions are in ``functions``."""
