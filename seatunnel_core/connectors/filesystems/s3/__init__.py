"""S3, and servers with the same protocol."""
