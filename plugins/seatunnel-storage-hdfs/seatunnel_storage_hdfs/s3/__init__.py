"""Checkpoints on S3, and on compatible servers that support conditional puts, such as MinIO."""

from collections.abc import Mapping

from seatunnel_core.clients.s3.connection import bucket_of, connect
from seatunnel_storage_api import configuration as shared
from seatunnel_storage_api.errors import (
    NamespaceError,
    StorageAccessError,
    StorageUnavailableError,
)
from seatunnel_storage_hdfs.probe import closed_on_failure
from seatunnel_storage_hdfs.s3.probe import probe
from seatunnel_storage_hdfs.s3.storage import BACKEND, PATIENCE, S3Storage

_LONGEST_NAMESPACE = 700
"""Maximum length of a namespace in bytes. S3 allows keys of 1,024 bytes; this engine adds at most about 250."""


def create(configuration: Mapping[str, str]) -> S3Storage:
    """Return a storage in a bucket, after testing a listing, a put, a read and a deletion."""
    name, namespace, max_retained = (
        bucket_of(configuration),
        _namespace(configuration),
        shared.max_retained(configuration),
    )
    try:
        client = PATIENCE.call(lambda: connect(configuration))
        with closed_on_failure(client):
            storage = S3Storage(client=client, bucket=name, namespace=namespace, max_retained=max_retained)
            storage.read_only = shared.read_only(configuration)
            PATIENCE.call(lambda: probe(storage))
    except (StorageAccessError, StorageUnavailableError) as error:
        raise type(error)(f"cannot use s3://{name}{namespace} ({BACKEND}): {error}") from (error.__cause__ or error)
    return storage


def _namespace(configuration: Mapping[str, str]) -> str:
    namespace = shared.namespace(configuration)
    if len(namespace.encode()) > _LONGEST_NAMESPACE:
        raise NamespaceError(
            f"the namespace {namespace[:40]}… has {len(namespace.encode())} bytes, too many for an S3 key: choose a "
            f"namespace of at most {_LONGEST_NAMESPACE} bytes"
        )
    return namespace
