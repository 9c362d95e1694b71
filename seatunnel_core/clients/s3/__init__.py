"""S3 and servers with the same protocol, by boto3."""
