"""Startup test for S3. It lists first, to distinguish a missing bucket from a rejected put."""

import logging

from botocore.exceptions import ClientError

from seatunnel_core.clients.s3.answers import require_deleted, translated
from seatunnel_storage_api.errors import StorageAccessError
from seatunnel_storage_hdfs.probe import KEY, never_overwrites
from seatunnel_storage_hdfs.s3.storage import S3Storage

logger = logging.getLogger("seatunnel.storage")


def probe(storage: S3Storage) -> None:
    """Test a storage with a listing, two puts, a read and a deletion; a read-only storage only with a listing.

    Warns about a bucket that keeps deleted objects.
    """
    _list(storage)
    if storage.read_only:
        return
    _require_put_if_absent(storage)
    storage.read(KEY)
    if _delete(storage) and not _expires_old_versions(storage):
        logger.warning(
            "the bucket %s keeps versions of objects, so removed checkpoints still use paid storage. Add a "
            "lifecycle rule "
            "that expires noncurrent versions of %s after a day",
            storage.bucket,
            storage.locate(""),
        )


def _list(storage: S3Storage) -> None:
    with translated():
        storage.client.list_objects_v2(Bucket=storage.bucket, Prefix=storage.object_key(""), MaxKeys=1)


def _require_put_if_absent(storage: S3Storage) -> None:
    if not never_overwrites(storage):
        raise StorageAccessError(
            "the server ignores If-None-Match and overwrites objects, so two engines could destroy each other's "
            "checkpoints. Use a version that supports conditional writes, or another storage.type"
        )


def _delete(storage: S3Storage) -> bool:
    """Delete the test object; return True if the bucket keeps deleted objects."""
    objects = {"Objects": [{"Key": storage.object_key(KEY)}]}
    with translated():
        answer = storage.client.delete_objects(Bucket=storage.bucket, Delete=objects)
    require_deleted(answer)
    return any(deleted.get("DeleteMarker") for deleted in answer.get("Deleted", ()))


def _expires_old_versions(storage: S3Storage) -> bool:
    """Return True if a lifecycle rule expires old versions, False if access to the rules is denied."""
    try:
        rules = storage.client.get_bucket_lifecycle_configuration(Bucket=storage.bucket)["Rules"]
    except ClientError:
        return False
    return any(rule["Status"] == "Enabled" and "NoncurrentVersionExpiration" in rule for rule in rules)
