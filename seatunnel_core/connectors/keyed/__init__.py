"""Convert keys and values of key-value stores to rows, and rows to keys and values."""
