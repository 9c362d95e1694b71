"""The built-in transforms (entry-point group ``seatunnel.transform``)."""
