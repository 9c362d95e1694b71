"""A bucket on S3 or a compatible server, accessed with boto3. The checkpoint storage uses the same client."""

import errno
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from attrs import field, frozen

from seatunnel_core.connectors.filesystems.objects.store import MARK, Found, ObjectStore, Page
from seatunnel_core.connectors.filesystems.server_clients import client_of, os_errors
from seatunnel_core.connectors.filesystems.staged_name import PROBE
from seatunnel_storage_api.errors import CheckpointStorageError, StorageAccessError, StorageUnavailableError
from seatunnel_storage_api.retry import Backoff

Answer = TypeVar("Answer")

_FIRST = Backoff()
_PATIENCE = Backoff(attempts=16, first_wait_ms=100, longest_wait_ms=3_000)
"""Retry limit of half a minute, enough for a server to restart."""

_answered: set[int] = set()
"""IDs of the client objects that have received a response."""

OPTION_NAMES = {
    "fs.s3a.access.key": "access_key",
    "fs.s3a.secret.key": "secret_key",
    "s3.bucket": "bucket",
    "within the bucket in namespace": "within the bucket in path",
    "Choose a shorter namespace": "Choose a shorter path",
    "of the namespace (arn:aws:s3:::<bucket>/<namespace>*)": "below path (arn:aws:s3:::<bucket>/<path>*)",
    "Checkpoints need a server with conditional puts (If-None-Match): use a newer version of it, or another "
    "storage.type": "Use a newer version of the server",
    "Raise the checkpoint interval, or spread jobs over more buckets": "Run fewer tasks at once",
    ", or lower max-retained": "",
    "Check the keys in plugin-config": "Check the options",
    "fs.s3a.path.style.access: true": "fs.s3a.path.style.access = true in hadoop_s3_properties",
    "fs.s3a.connection.ssl.enabled: false": "fs.s3a.connection.ssl.enabled = false in hadoop_s3_properties",
    **{
        key: f"{key} in hadoop_s3_properties"
        for key in ("fs.s3a.endpoint.region", "fs.s3a.ssl.ca-file", "fs.s3a.session.token")
    },
}
"""Mapping from the names that the client uses in messages to option names of the connector."""

_STATUS = {404: errno.ENOENT, 412: errno.EEXIST, 401: errno.EACCES, 403: errno.EACCES, 507: errno.ENOSPC}
_CODES = {
    "NoSuchBucket": errno.ENODEV,
    "NoSuchKey": errno.ENOENT,
    "NoSuchUpload": errno.ENOENT,
    **dict.fromkeys(("XMinioStorageFull", "XMinioAdminBucketQuotaExceeded", "QuotaExceeded"), errno.ENOSPC),
}

_OF_CREDENTIALS = ("AssumeRole", "AssumeRoleWithWebIdentity", "CreateToken", "GetRoleCredentials")
"""Operations that obtain credentials; their error responses do not concern an object."""


@frozen(kw_only=True)
class S3Store(ObjectStore):
    """One bucket, accessed as one user."""

    bucket: str
    configuration: Mapping[str, str] = field(repr=False)
    """Values of the options, under the keys that the client uses."""

    task_modules: ClassVar[tuple[str, ...]] = ("boto3",)

    @property
    def schemes(self) -> tuple[str, ...]:
        return "s3", "s3a", "s3n"

    @property
    def client(self) -> Any:
        """This process's boto3 client for the bucket."""
        from seatunnel_core.clients.s3.connection import connect

        return client_of(self.configuration, connect)

    def _ask(self, key: str, question: Callable[[Any], Answer]) -> Answer:
        """Send a request about a key; retry temporary failures, but only a few times before the first response."""
        from seatunnel_core.clients.s3.answers import translated

        def asked(client: Any) -> Answer:
            try:
                with translated():
                    return question(client)
            except StorageUnavailableError as error:
                if _number(error):  # Retries do not help if an object is missing or a server is full.
                    raise StorageAccessError(str(error)) from error.__cause__
                raise

        with os_errors(f"s3://{self.bucket}/{key}".rstrip("/"), OPTION_NAMES, _number):
            client = _FIRST.call(lambda: self.client)
            try:
                found = (_PATIENCE if id(client) in _answered else _FIRST).call(lambda: asked(client))
            except StorageAccessError:  # An error response is a response, too.
                _answered.add(id(client))
                raise
            _answered.add(id(client))
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
        """Return the range. The body is read within the request, because the connection may fail during the read."""
        given = {"Bucket": self.bucket, "Key": key, "Range": f"bytes={start}-{end - 1}", "IfMatch": etag}
        return self._ask(key, lambda client: bytes(client.get_object(**given)["Body"].read()))

    def put(self, key: str, body: bytes, mark: str = "") -> None:
        given = {"Bucket": self.bucket, "Key": key, "Body": body, **({"Metadata": {MARK: mark}} if mark else {})}
        self._ask(key, lambda client: client.put_object(**given))

    def copy(self, source: str, key: str) -> None:
        """Copy with ``If-None-Match``, which S3 honours but MinIO and versitygw ignore."""
        given = {"Bucket": self.bucket, "Key": key, "CopySource": self._source(source), "IfNoneMatch": "*"}
        self._ask(key, lambda client: client.copy_object(**given))

    def _source(self, key: str) -> Mapping[str, str]:
        return {"Bucket": self.bucket, "Key": key}

    def delete(self, keys: Sequence[str]) -> None:
        if len(keys) == 1:
            self._ask(keys[0], lambda client: client.delete_object(Bucket=self.bucket, Key=keys[0]))
            return
        wanted = {"Objects": [{"Key": key} for key in keys], "Quiet": True}
        from seatunnel_core.clients.s3.answers import require_deleted

        self._ask("", lambda client: require_deleted(client.delete_objects(Bucket=self.bucket, Delete=wanted)))

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
        """Yield the uploads of exactly this key. Some servers can list only these, see ``objects.staged``."""
        given = {"Bucket": self.bucket, "Prefix": key}
        pages = self._ask(key, lambda client: list(client.get_paginator("list_multipart_uploads").paginate(**given)))
        for page in pages:
            yield from (each["UploadId"] for each in page.get("Uploads", ()) if each["Key"] == key)

    def require_writable(self, folder: str) -> None:
        self.page(folder, deep=True, most=1)  # its message for a missing bucket is clearer than a put's
        probe = f"{folder}{PROBE}{secrets.token_hex(8)}"
        self.put(probe, b"\n")  # A bucket without remaining quota rejects one byte, but not an empty object.
        try:
            self.copy(probe, f"{probe}-copy")
        finally:
            self.delete([probe])
        self.delete([f"{probe}-copy"])

    def days_of_objects(self, prefix: str) -> Sequence[int]:
        try:
            answer = self._ask("", lambda client: client.get_bucket_lifecycle_configuration(Bucket=self.bucket))
        except OSError:  # The bucket has no rules, they may not be read, or the server does not support them.
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


def _number(error: CheckpointStorageError) -> int | None:
    """Return the ``errno`` for an error response."""
    response = getattr(error.__cause__, "response", None)
    if not response or getattr(error.__cause__, "operation_name", "") in _OF_CREDENTIALS:
        return None
    code = str(response.get("Error", {}).get("Code", ""))
    status = int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    number = _CODES.get(code) or _STATUS.get(status)
    return number or (None if isinstance(error, StorageUnavailableError) else errno.EINVAL)
