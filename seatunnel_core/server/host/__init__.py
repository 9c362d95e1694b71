"""Worker process (``host``): runs many jobs on one warm Spark session and outlives the agent that started it."""
