"""Help pages that ``seatunnel help`` prints and nodes serve: error codes and parts of the documentation."""
