"""``seatunnel state``: the states of jobs that read in increments."""
