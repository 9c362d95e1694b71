"""Models behind HTTP APIs: what they say about rows, and vectors of texts."""
