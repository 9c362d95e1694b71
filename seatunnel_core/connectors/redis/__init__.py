"""The ``Redis`` source and sink: keys on a server or in a cluster."""
