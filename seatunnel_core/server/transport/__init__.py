"""How HTTP reaches a node: its sockets, TLS, and the limits of a connection."""
