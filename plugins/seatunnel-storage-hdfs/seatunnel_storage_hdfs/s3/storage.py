"""Checkpoints as objects in an S3 bucket.

A put is one request with ``If-None-Match: *``: the server stores the whole body or nothing, and only one of several
writers succeeds. Nothing is renamed or left behind. Fencing relies on the strong consistency of S3 listings.
"""

import io
from collections.abc import Iterable, Iterator
from typing import Any

from botocore.exceptions import ClientError

from seatunnel_core.clients.s3.answers import code_of, require_deleted, translated
from seatunnel_storage_api.blob import Blob, BlobStorage
from seatunnel_storage_api.retry import Backoff

BACKEND = "hdfs on S3"

PATIENCE = Backoff(attempts=6, first_wait_ms=100, longest_wait_ms=2_000)
"""Retry limit of three seconds in total, enough for a server that restarts or throttles requests."""

MOST_DELETED_AT_ONCE = 1_000
"""S3's maximum number of keys per delete request."""

_LARGE_BYTES = 2**20
"""Size in bytes from which a body is sent without copying; a smaller one is copied into one packet with the headers."""

_BLOCK_BYTES = 2**16


class S3Storage(BlobStorage):
    """Storage of blobs as objects in an existing bucket. ``client`` is thread-safe, and closed with the storage.

    A checkpoint costs one PUT and one LIST, and one batched DELETE when checkpoints expire.
    """

    def __init__(self, *, client: Any, bucket: str, namespace: str, max_retained: int) -> None:
        super().__init__(backend=BACKEND, namespace=namespace, max_retained=max_retained, backoff=PATIENCE)
        self.client = client
        self.bucket = bucket
        self._folder = namespace.removeprefix("/")

    def put_if_absent(self, key: str, body: bytes) -> bool:
        with translated():
            try:
                content = body if len(body) < _LARGE_BYTES else _Blocks(body)
                self.client.put_object(Bucket=self.bucket, Key=self.object_key(key), Body=content, IfNoneMatch="*")
            except ClientError as error:
                if code_of(error) != "PreconditionFailed":
                    raise
                return False
            return True

    def read(self, key: str) -> bytes | None:
        with translated():
            try:
                answer = self.client.get_object(Bucket=self.bucket, Key=self.object_key(key))
            except ClientError as error:
                if code_of(error) != "NoSuchKey":
                    raise
                return None
            with answer["Body"] as body:
                content: bytes = body.read()
                return content

    def list_blobs(self, prefix: str) -> Iterator[Blob]:
        pages = self.client.get_paginator("list_objects_v2")
        with translated():
            for page in pages.paginate(Bucket=self.bucket, Prefix=self.object_key(prefix)):
                for found in page.get("Contents", ()):
                    yield Blob(
                        key=found["Key"].removeprefix(self._folder),
                        size_bytes=found["Size"],
                        modified_at=found["LastModified"].timestamp(),
                    )

    def delete(self, keys: Iterable[str]) -> None:
        every = [{"Key": self.object_key(key)} for key in keys]
        for start in range(0, len(every), MOST_DELETED_AT_ONCE):
            batch = every[start : start + MOST_DELETED_AT_ONCE]
            with translated():
                answer = self.client.delete_objects(Bucket=self.bucket, Delete={"Objects": batch, "Quiet": True})
            require_deleted(answer)

    def close(self) -> None:
        self.client.close()
        super().close()

    def object_key(self, key: str) -> str:
        """Return the object key for a key below the namespace."""
        return self._folder + key

    def locate(self, key: str) -> str:
        return f"s3://{self.bucket}/{self.object_key(key)}"


class _Blocks(io.BytesIO):
    """File object over existing memory, from which botocore copies at most one block at a time."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(size, _BLOCK_BYTES) if size else size)
