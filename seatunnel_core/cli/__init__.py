"""The command ``seatunnel``: arguments, what is shown, exit codes. What it does is done by the packages below."""
