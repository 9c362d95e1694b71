"""The source and the sink ``Redis``: keys on a server or in a cluster."""
