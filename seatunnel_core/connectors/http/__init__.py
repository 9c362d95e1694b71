"""Services over HTTP: the source and the sink ``Http``, and connectors for single services built on them."""
