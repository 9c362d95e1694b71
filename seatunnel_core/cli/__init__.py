"""The command ``seatunnel``: arguments, output and exit codes. The work is done by other packages."""
