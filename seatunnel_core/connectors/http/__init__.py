"""Services over HTTP: the source and the sink ``Http``, and what is made of them for single services."""
