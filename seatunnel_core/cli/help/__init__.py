"""``seatunnel help`` and ``seatunnel plugins``: what is installed, what it takes, and what errors mean."""
