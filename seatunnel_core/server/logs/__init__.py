"""Log files of a node and of the other nodes: rotation, reading in parts, collection."""
