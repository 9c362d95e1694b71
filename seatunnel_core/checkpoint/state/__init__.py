"""States of vertices and their encoding: everything that reads or writes the content of a checkpoint."""
