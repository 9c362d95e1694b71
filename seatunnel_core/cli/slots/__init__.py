"""``seatunnel slots``: the replication slots of jobs."""
