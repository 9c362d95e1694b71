"""S3 bucket client, configured with the keys of Hadoop's S3A client."""

import re
from collections.abc import Mapping
from typing import Any

from botocore.credentials import Credentials

from seatunnel_core.clients.s3 import credentials
from seatunnel_core.clients.s3.client import UNSIGNED, endpoint_of, open_client, region_of
from seatunnel_storage_api import configuration as shared
from seatunnel_storage_api.errors import StorageConfigurationError

BUCKET = "s3.bucket"

_BUCKET = re.compile(r"(?:s3[an]?://)?([a-zA-Z0-9][a-zA-Z0-9._-]{1,254})/?")


def connect(configuration: Mapping[str, str]) -> Any:
    """Return a boto3 client with the configured credentials. Only requests for credentials are sent."""
    return _client(configuration, credentials.find(configuration))


def check(configuration: Mapping[str, str]) -> None:
    """Check all keys without sending a request."""
    bucket_of(configuration)
    credentials.check(configuration)
    _client(configuration, UNSIGNED).close()


def _client(configuration: Mapping[str, str], signing: Credentials) -> Any:
    endpoint, region = endpoint_of(configuration), region_of(configuration)
    return open_client("s3", signing, configuration, endpoint=endpoint, region=region)


def bucket_of(configuration: Mapping[str, str]) -> str:
    """Return the bucket name from ``s3.bucket``, given as ``name``, ``s3a://name`` or ``s3://name/``."""
    written = configuration.get(BUCKET) or ""
    match = _BUCKET.fullmatch(written)
    if match is None:
        raise StorageConfigurationError(
            f"{BUCKET} is {written!r}, which is not a valid bucket name. Use name or s3a://name; put folders within "
            f"the bucket in {shared.NAMESPACE}"
        )
    return match[1]
