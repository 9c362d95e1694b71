"""``seatunnel slots``: replication slots of jobs."""
