"""``S3File``: objects of S3, and of servers that speak as it does, read and written as files."""
