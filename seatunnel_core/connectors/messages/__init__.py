"""Message formats for sources and sinks of queues and key-value stores."""
