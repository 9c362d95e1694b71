"""Command ``seatunnel``: arguments, output and exit codes."""
