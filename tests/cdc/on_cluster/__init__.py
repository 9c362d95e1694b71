"""Jobs that capture changes on a cluster whose nodes, processes and database are killed: ``make cdc-cluster``."""
