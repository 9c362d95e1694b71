"""A host: a process with one warm Spark and many jobs, which outlives the agent that started it."""
