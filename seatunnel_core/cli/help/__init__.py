"""``seatunnel help`` and ``seatunnel plugins``: plugins with their options, error codes, and documentation pages."""
