"""Client of a bucket, by the keys of Hadoop's S3A client."""

from collections.abc import Mapping
from typing import Any

from seatunnel_storage_clients.s3.client import endpoint_of, open_client, region_of
from seatunnel_storage_clients.s3.credentials import find


def connect(configuration: Mapping[str, str]) -> Any:
    """Return a boto3 client with the configured credentials; it sends requests only to obtain these.

    Raises:
        StorageConfigurationError: A key is missing or wrong, or there are no credentials.
        StorageFailureError: The credentials cannot be obtained.
    """
    credentials = find(configuration)
    endpoint, region = endpoint_of(configuration), region_of(configuration)
    return open_client("s3", credentials, configuration, endpoint=endpoint, region=region)
