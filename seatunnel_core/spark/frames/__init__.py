"""DataFrame path: work units in which Spark itself reads or transforms rows."""
