"""Client for S3 and S3-compatible servers, built on boto3."""
