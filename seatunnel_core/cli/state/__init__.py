"""``seatunnel state``: the stored positions of incremental jobs."""
