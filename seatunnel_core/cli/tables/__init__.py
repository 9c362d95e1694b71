"""``seatunnel tables``: the captured tables of running jobs."""
