"""Conversion of column values from the bytes of rows to Arrow arrays."""
