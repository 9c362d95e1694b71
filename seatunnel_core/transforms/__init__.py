"""Built-in transforms (entry-point group ``seatunnel.transform``)."""
