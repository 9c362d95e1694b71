"""Help pages, printed by ``seatunnel help`` and served by nodes: error codes and parts of the documentation."""
