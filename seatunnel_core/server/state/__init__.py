"""The state of a cluster: what it records of jobs, and the store that keeps it durable and fenced by terms."""
