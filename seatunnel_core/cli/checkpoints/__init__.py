"""``seatunnel checkpoints``: looks into checkpoint storages, and looks after them."""
