"""Checkpoints as OSS objects.

A put sends ``x-oss-forbid-overwrite``, so that only one of several writers succeeds, and ``Content-MD5``, so that the
server rejects data that was damaged in transit. In a bucket with versioning, ``x-oss-forbid-overwrite`` has no effect;
``create`` detects and rejects such a bucket.
"""

import base64
import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping

import oss2

from seatunnel_core.clients.oss.client import BUCKET, connect
from seatunnel_core.clients.oss.errors import translated
from seatunnel_storage_api import configuration as shared
from seatunnel_storage_api.blob import Blob, BlobStorage
from seatunnel_storage_api.errors import StorageAccessError
from seatunnel_storage_hdfs.probe import KEY as PROBE
from seatunnel_storage_hdfs.probe import closed_on_failure, probe

_MOST_KEYS = 1_000
"""Maximum number of keys in a page of a listing, and in a batched delete."""

_PROBES = 5
"""Number of attempts to put the probe; another engine that starts at the same time may remove it in between."""


class OssStorage(BlobStorage):
    """Storage of blobs as objects in one bucket. A checkpoint costs one put and one listing, and one batched delete."""

    def __init__(self, bucket: oss2.Bucket, *, namespace: str, max_retained: int) -> None:
        super().__init__(backend="OSS", namespace=namespace, max_retained=max_retained)
        self._bucket = bucket

    def locate(self, key: str) -> str:
        return f"oss://{self._bucket.bucket_name}{self.namespace}{key}"

    def put_if_absent(self, key: str, body: bytes) -> bool:
        return self._put(key, body) is not None

    def _put(self, key: str, body: bytes) -> Mapping[str, str] | None:
        """Put an object; return the headers of the response, or ``None`` if the key exists."""
        md5 = base64.b64encode(hashlib.md5(body, usedforsecurity=False).digest()).decode()
        headers = {"x-oss-forbid-overwrite": "true", "Content-MD5": md5, "Content-Type": "application/octet-stream"}
        with translated():
            try:
                answer: Mapping[str, str] = self._bucket.put_object(self._name(key), body, headers=headers).headers
            except oss2.exceptions.ServerError as error:
                if error.code != "FileAlreadyExists":
                    raise
                return None
        return answer

    def read(self, key: str) -> bytes | None:
        with translated():
            try:
                body: bytes = self._bucket.get_object(self._name(key)).read()
            except oss2.exceptions.NoSuchKey:
                return None
        return body

    def list_blobs(self, prefix: str) -> Iterator[Blob]:
        token = ""
        while True:
            with translated():
                page = self._bucket.list_objects_v2(
                    prefix=self._name(prefix), continuation_token=token, max_keys=_MOST_KEYS
                )
            for each in page.object_list:
                key = each.key.removeprefix(self._name(""))
                yield Blob(key=key, size_bytes=each.size, modified_at=each.last_modified)
            token = page.next_continuation_token
            if not page.is_truncated:
                return

    def delete(self, keys: Iterable[str]) -> None:
        names = iter([self._name(key) for key in keys])
        while batch := list(itertools.islice(names, _MOST_KEYS)):
            with translated():
                removed = self._bucket.batch_delete_objects(batch).deleted_keys
            left = sorted({*batch}.difference(removed))
            if left:
                raise StorageAccessError(
                    f"OSS did not remove {len(left)} of {len(batch)} objects, such as {left[0]}. Grant "
                    "oss:DeleteObject on them to this user"
                )

    def close(self) -> None:
        self._bucket.session.session.close()
        super().close()

    def probe(self) -> None:
        """Test the operations of a checkpoint with one fixed key: put, read, list and delete."""
        probe(self, self._require_put_if_absent)

    def _require_put_if_absent(self) -> None:
        for _ in range(_PROBES):
            answers = [self._put(PROBE, b""), self._put(PROBE, b"")]
            if None in answers:
                return
            if any("x-oss-version-id" in (answer or {}) for answer in answers):
                break
        raise StorageAccessError(
            "a second put replaced the first, although x-oss-forbid-overwrite was set: versioning of the bucket is "
            "enabled or suspended, so the header has no effect and two engines could overwrite each other's "
            "checkpoints. Versioning cannot be turned off again: create a bucket without versioning and set "
            f"{BUCKET} to it"
        )

    def _name(self, key: str) -> str:
        return self.namespace[1:] + key


def create(configuration: Mapping[str, str]) -> OssStorage:
    """Return a storage in a bucket, after testing the bucket."""
    storage = OssStorage(
        connect(configuration),
        namespace=shared.namespace(configuration),
        max_retained=shared.max_retained(configuration),
    )
    with closed_on_failure(storage):
        storage.read_only = shared.read_only(configuration)
        storage.probe()
    return storage
