"""Client for S3 and servers with the same protocol, built on boto3."""
