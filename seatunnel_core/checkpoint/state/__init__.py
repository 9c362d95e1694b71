"""The states of vertices, and their bytes: everything that reads or writes the content of a checkpoint."""
