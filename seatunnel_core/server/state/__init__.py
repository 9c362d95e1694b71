"""State of a cluster: job records in a durable store that rejects writes of older terms."""
