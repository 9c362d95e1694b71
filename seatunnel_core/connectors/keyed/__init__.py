"""Conversion of keys and values in key-value stores to rows, and of rows to keys and values."""
