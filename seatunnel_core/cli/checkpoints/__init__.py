"""``seatunnel checkpoints``: inspection and maintenance of checkpoint storages."""
