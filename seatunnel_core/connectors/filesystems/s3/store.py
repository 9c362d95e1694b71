"""A bucket of S3, and of servers with the same protocol, by boto3."""

import errno
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from attrs import frozen

from seatunnel_core.connectors.filesystems.objects.store import MARK, Found, ObjectStore, Page
from seatunnel_core.connectors.filesystems.s3.client import Connection, os_errors
from seatunnel_core.connectors.filesystems.staged_name import PROBE
from seatunnel_storage_api.errors import StorageUnavailableError
from seatunnel_storage_api.retry import Backoff

Answer = TypeVar("Answer")

_FIRST = Backoff()
_PATIENCE = Backoff(attempts=16, first_wait_ms=100, longest_wait_ms=3_000)
"""Retry limit: half a minute, as long as the restart of a server takes."""

_answered: set[str] = set()
"""Keys of connections whose server has responded at least once."""


@frozen(kw_only=True)
class S3Store(ObjectStore):
    """One bucket, accessed as one user."""

    bucket: str
    connection: Connection

    task_modules: ClassVar[tuple[str, ...]] = ("boto3",)

    @property
    def schemes(self) -> tuple[str, ...]:
        return "s3", "s3a", "s3n"

    @property
    def client(self) -> Any:
        """The boto3 client of this process for the connection."""
        return self.connection.client()

    def _ask(self, key: str, question: Callable[[Any], Answer]) -> Answer:
        """Send a request about a key, and retry it while the failure may be temporary.

        Retries are few until the server has responded once: the address may be wrong, and the user is waiting.
        """

        def asked() -> Answer:
            try:
                with os_errors(f"s3://{self.bucket}/{key}".rstrip("/")):
                    return question(self.client)
            except OSError as error:
                if error.errno == errno.EIO:
                    raise StorageUnavailableError(str(error)) from error
                raise

        try:
            found = (_PATIENCE if self.connection.key in _answered else _FIRST).call(asked)
        except StorageUnavailableError as error:
            raise (error.__cause__ or error) from None
        except OSError:  # an error response is a response, too
            _answered.add(self.connection.key)
            raise
        _answered.add(self.connection.key)
        return found

    def head(self, key: str) -> Found:
        found = self._ask(key, lambda client: client.head_object(Bucket=self.bucket, Key=key))
        return _found(key, found["ContentLength"], found, str(found.get("Metadata", {}).get(MARK, "")))

    def page(self, prefix: str, *, deep: bool, more: str | None = None, most: int = 1000) -> Page:
        asked: dict[str, Any] = {"Bucket": self.bucket, "Prefix": prefix, "MaxKeys": most}
        asked |= {} if deep else {"Delimiter": "/"}
        asked |= {"ContinuationToken": more} if more else {}
        page = self._ask(prefix, lambda client: client.list_objects_v2(**asked))
        return Page(
            objects=[_found(each["Key"], each["Size"], each) for each in page.get("Contents", ())],
            folders=[each["Prefix"] for each in page.get("CommonPrefixes", ())],
            more=page["NextContinuationToken"] if page.get("IsTruncated") else None,
        )

    def get(self, key: str, start: int, end: int, etag: str) -> bytes:
        """Return the range; the body is read within the request, because the connection may fail while it is read."""
        given = {"Bucket": self.bucket, "Key": key, "Range": f"bytes={start}-{end - 1}", "IfMatch": etag}
        return self._ask(key, lambda client: bytes(client.get_object(**given)["Body"].read()))

    def put(self, key: str, body: bytes, mark: str = "") -> None:
        given = {"Bucket": self.bucket, "Key": key, "Body": body, **({"Metadata": {MARK: mark}} if mark else {})}
        self._ask(key, lambda client: client.put_object(**given))

    def copy(self, source: str, key: str) -> None:
        """Copy with ``If-None-Match``, which S3 honours, and MinIO and versitygw ignore."""
        given = {"Bucket": self.bucket, "Key": key, "CopySource": self._source(source), "IfNoneMatch": "*"}
        self._ask(key, lambda client: client.copy_object(**given))

    def _source(self, key: str) -> Mapping[str, str]:
        return {"Bucket": self.bucket, "Key": key}

    def delete(self, keys: Sequence[str]) -> None:
        if len(keys) == 1:
            self._ask(keys[0], lambda client: client.delete_object(Bucket=self.bucket, Key=keys[0]))
            return
        wanted = {"Objects": [{"Key": key} for key in keys], "Quiet": True}
        found = self._ask("", lambda client: client.delete_objects(Bucket=self.bucket, Delete=wanted))
        for refused in found.get("Errors", ()):  # botocore raises no error for these
            words = f"the server rejected the request: {refused.get('Code')}: {refused.get('Message', '')}"
            raise PermissionError(errno.EACCES, words, f"s3://{self.bucket}/{refused.get('Key')}")

    # -- uploads in parts -----------------------------------------------------------------------------------------

    def begin(self, key: str, mark: str) -> str:
        given = {"Bucket": self.bucket, "Key": key, "Metadata": {MARK: mark}}
        return str(self._ask(key, lambda client: client.create_multipart_upload(**given)["UploadId"]))

    def send(self, key: str, upload: str, number: int, part: bytes) -> str:
        given = {"Bucket": self.bucket, "Key": key, "UploadId": upload, "PartNumber": number, "Body": part}
        return str(self._ask(key, lambda client: client.upload_part(**given)["ETag"]))

    def send_copy(self, key: str, upload: str, number: int, source: str, start: int, end: int) -> str:
        given = {"Bucket": self.bucket, "Key": key, "UploadId": upload, "PartNumber": number}
        given |= {"CopySource": self._source(source), "CopySourceRange": f"bytes={start}-{end - 1}"}
        return str(self._ask(key, lambda client: client.upload_part_copy(**given)["CopyPartResult"]["ETag"]))

    def complete(self, key: str, upload: str, etags: Sequence[str], *, new: bool) -> None:
        parts = {"Parts": [{"PartNumber": number, "ETag": etag} for number, etag in enumerate(etags, 1)]}
        given: dict[str, Any] = {"Bucket": self.bucket, "Key": key, "UploadId": upload, "MultipartUpload": parts}
        given |= {"IfNoneMatch": "*"} if new else {}
        self._ask(key, lambda client: client.complete_multipart_upload(**given))

    def abort(self, key: str, upload: str) -> None:
        self._ask(key, lambda client: client.abort_multipart_upload(Bucket=self.bucket, Key=key, UploadId=upload))

    def uploads(self, key: str) -> Iterator[str]:
        """Yield the uploads of exactly this key; see ``objects.staged`` for servers that list no others."""
        given = {"Bucket": self.bucket, "Prefix": key}
        pages = self._ask(key, lambda client: list(client.get_paginator("list_multipart_uploads").paginate(**given)))
        for page in pages:
            yield from (each["UploadId"] for each in page.get("Uploads", ()) if each["Key"] == key)

    def require_writable(self, folder: str) -> None:
        self.page(folder, deep=True, most=1)  # its message for a missing bucket is clearer than that of a put
        probe = f"{folder}{PROBE}{secrets.token_hex(8)}"
        self.put(probe, b"\n")  # With one byte, which a bucket without remaining quota rejects.
        try:
            self.copy(probe, f"{probe}-copy")
        finally:
            self.delete([probe])
        self.delete([f"{probe}-copy"])

    def days_of_objects(self, prefix: str) -> Sequence[int]:
        try:
            answer = self._ask("", lambda client: client.get_bucket_lifecycle_configuration(Bucket=self.bucket))
        except OSError:  # There are none, or they may not be read, or the server does not support them.
            return []
        found = []
        for rule in answer.get("Rules", ()):
            covered = str(rule.get("Filter", {}).get("Prefix", rule.get("Prefix", "")))
            days = rule.get("Expiration", {}).get("Days")
            if days and rule.get("Status") == "Enabled" and (prefix.startswith(covered) or covered.startswith(prefix)):
                found.append(int(days))
        return found


def _found(key: str, size: int, answer: Mapping[str, Any], mark: str = "") -> Found:
    # A listing may have fractions of a second, the head of an object has none.
    modified_s = int(answer["LastModified"].timestamp())
    return Found(key=key, size=size, modified_s=modified_s, etag=answer["ETag"], mark=mark)
