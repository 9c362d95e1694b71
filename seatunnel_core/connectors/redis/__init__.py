"""The source and the sink ``Redis``: keys of one server, or of a cluster."""
