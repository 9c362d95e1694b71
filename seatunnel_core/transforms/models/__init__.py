"""Transforms that call models over HTTP: completions for rows, and embeddings of strings."""
