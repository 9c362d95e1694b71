"""State of a cluster: records of jobs, in a durable store that is fenced by terms."""
