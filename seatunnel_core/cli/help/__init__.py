"""``seatunnel help`` and ``seatunnel plugins``: installed plugins, their options, and error codes."""
