"""Services over HTTP: the source and the sink ``Http``, and connectors for individual services built on them."""
