"""The ``Redis`` source and sink, for keys on a server or in a cluster."""
