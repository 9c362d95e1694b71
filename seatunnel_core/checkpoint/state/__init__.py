"""States of vertices, and their encoding in checkpoints."""
