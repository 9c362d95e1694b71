"""Models behind HTTP APIs: their answers about rows, and vectors of texts."""
