"""Keys and values of key-value stores as rows, and rows as keys and values."""
