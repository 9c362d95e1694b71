"""Services over HTTP: the ``Http`` source and sink, and connectors for individual services built on them."""
