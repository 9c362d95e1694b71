"""S3, and servers that speak as it does."""
