"""Values of columns: from the bytes of rows to Arrow arrays."""
