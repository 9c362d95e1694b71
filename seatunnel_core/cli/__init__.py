"""Command ``seatunnel``: arguments, output and exit codes. Other packages do the work."""
