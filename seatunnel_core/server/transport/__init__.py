"""HTTP transport of a node: sockets, TLS, connection limits, and the client for other nodes."""
