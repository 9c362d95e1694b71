"""Files on servers that rename files atomically and have an fsspec client."""
