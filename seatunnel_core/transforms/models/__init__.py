"""Transforms that call models by HTTP: completions for rows, and embeddings of texts."""
