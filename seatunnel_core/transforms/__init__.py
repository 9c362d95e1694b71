"""The transforms, and the interface of a transform plugin (entry-point group ``seatunnel.transform``)."""
