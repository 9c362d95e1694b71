"""A bucket of Alibaba Cloud OSS, through oss2. The checkpoint storage uses the same client and error handling."""

import errno
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar, TypeVar

from attrs import field, frozen

from seatunnel_core.connectors.filesystems.objects.store import MARK, Found, ObjectStore, Page
from seatunnel_core.connectors.filesystems.server_clients import client_of, os_errors
from seatunnel_core.connectors.filesystems.staged_name import PROBE
from seatunnel_storage_api.errors import CheckpointStorageError
from seatunnel_storage_api.retry import Backoff

Answer = TypeVar("Answer")

_PATIENCE = Backoff(attempts=8, first_wait_ms=100, longest_wait_ms=3_000)
"""Retry limit of ten seconds. Every request can be repeated with the same result."""

_NEW = {"x-oss-forbid-overwrite": "true"}
_MARK = f"x-oss-meta-{MARK}"

OPTION_NAMES = {
    "fs.oss.accessKeyId": "access_key",
    "fs.oss.accessKeySecret": "access_secret",
    "fs.oss.securityToken": "security_token",
    "fs.oss.endpoint": "endpoint",
    "oss.bucket": "bucket",
    "within the bucket in namespace": "within the bucket in path",
    " in plugin-config": "",
}
"""Mapping from the names that the storage uses in messages to option names of the connector."""

_CODES = {
    **dict.fromkeys(("NoSuchKey", "NoSuchUpload"), errno.ENOENT),
    **dict.fromkeys(("FileAlreadyExists", "PreconditionFailed"), errno.EEXIST),
}


@frozen(kw_only=True)
class OssStore(ObjectStore):
    """One bucket, accessed as one user."""

    bucket: str
    configuration: Mapping[str, str] = field(repr=False)
    """Values of the options, under the keys that the checkpoint storage uses."""

    task_modules: ClassVar[tuple[str, ...]] = ("oss2",)

    @property
    def schemes(self) -> tuple[str, ...]:
        return ("oss",)

    @property
    def client(self) -> Any:
        """This process's shared client for the bucket, an ``oss2.Bucket``."""
        from seatunnel_core.clients.oss.client import connect

        return client_of(self.configuration, connect)

    def _ask(self, key: str, question: Callable[[Any], Answer]) -> Answer:
        from seatunnel_core.clients.oss.errors import translated

        def asked() -> Answer:
            with translated():
                return question(self.client)

        with os_errors(f"oss://{self.bucket}/{key}".rstrip("/"), OPTION_NAMES, _number):
            return _PATIENCE.call(asked)

    def head(self, key: str) -> Found:
        found = self._ask(key, lambda client: client.head_object(key))
        return Found(
            key=key,
            size=found.content_length,
            modified_s=found.last_modified,
            etag=found.etag,
            mark=found.headers.get(_MARK, ""),
        )

    def page(self, prefix: str, *, deep: bool, more: str | None = None, most: int = 1000) -> Page:
        asked = {"prefix": prefix, "delimiter": "" if deep else "/", "continuation_token": more or "", "max_keys": most}
        page = self._ask(prefix, lambda client: client.list_objects_v2(**asked))
        return Page(
            objects=[
                Found(key=each.key, size=each.size, modified_s=each.last_modified, etag=each.etag)
                for each in page.object_list
            ],
            folders=page.prefix_list,
            more=page.next_continuation_token if page.is_truncated else None,
        )

    def get(self, key: str, start: int, end: int, etag: str) -> bytes:
        headers = {"If-Match": etag}
        return self._ask(
            key, lambda client: bytes(client.get_object(key, byte_range=(start, end - 1), headers=headers).read())
        )

    def put(self, key: str, body: bytes, mark: str = "") -> None:
        headers = {_MARK: mark} if mark else {}
        self._ask(key, lambda client: client.put_object(key, body, headers=headers))

    def copy(self, source: str, key: str) -> None:
        self._ask(key, lambda client: client.copy_object(self.bucket, source, key, headers=_NEW))

    def delete(self, keys: Sequence[str]) -> None:
        if len(keys) == 1:
            self._ask(keys[0], lambda client: client.delete_object(keys[0]))
            return
        removed = self._ask("", lambda client: client.batch_delete_objects(list(keys)).deleted_keys)
        for left in sorted({*keys}.difference(removed)):
            raise PermissionError(errno.EACCES, "the server did not remove it", f"oss://{self.bucket}/{left}")

    def begin(self, key: str, mark: str) -> str:
        return str(self._ask(key, lambda client: client.init_multipart_upload(key, headers={_MARK: mark}).upload_id))

    def send(self, key: str, upload: str, number: int, part: bytes) -> str:
        return str(self._ask(key, lambda client: client.upload_part(key, upload, number, part).etag))

    def send_copy(self, key: str, upload: str, number: int, source: str, start: int, end: int) -> str:
        span = (start, end - 1)
        return str(
            self._ask(key, lambda client: client.upload_part_copy(self.bucket, source, span, key, upload, number).etag)
        )

    def complete(self, key: str, upload: str, etags: Sequence[str], *, new: bool) -> None:
        from oss2.models import PartInfo

        parts = [PartInfo(number, etag) for number, etag in enumerate(etags, 1)]
        headers = _NEW if new else {}
        self._ask(key, lambda client: client.complete_multipart_upload(key, upload, parts, headers=headers))

    def abort(self, key: str, upload: str) -> None:
        self._ask(key, lambda client: client.abort_multipart_upload(key, upload))

    def uploads(self, key: str) -> Iterator[str]:
        after: dict[str, str] = {}
        while True:
            page = self._ask(key, lambda client, after=after: client.list_multipart_uploads(prefix=key, **after))  # type: ignore[misc]
            yield from (each.upload_id for each in page.upload_list if each.key == key)
            if not page.is_truncated:
                return
            after = {"key_marker": page.next_key_marker, "upload_id_marker": page.next_upload_id_marker}

    def require_writable(self, folder: str) -> None:
        """Check that a second put to a key is rejected. A bucket with versioning would replace the object."""
        name = f"{folder}{PROBE}{secrets.token_hex(8)}"
        try:
            self._ask(name, lambda client: client.put_object(name, b"\n", headers=_NEW))
            self._ask(name, lambda client: client.put_object(name, b"\n", headers=_NEW))
        except FileExistsError:
            return
        finally:
            with suppress(OSError):  # The cleanup removes the object.
                self.delete([name])
        raise PermissionError(
            errno.EACCES,
            "versioning of the bucket is enabled or suspended, so x-oss-forbid-overwrite has no effect and objects "
            "could be replaced; use a bucket without versioning",
            f"oss://{self.bucket}/{folder}",
        )

    def days_of_objects(self, prefix: str) -> Sequence[int]:
        try:
            rules = self._ask("", lambda client: client.get_bucket_lifecycle().rules)
        except OSError:  # The bucket has no rules, or the user may not read them.
            return []
        found = []
        for rule in rules:
            days = rule.expiration and rule.expiration.days
            covers = prefix.startswith(rule.prefix or "") or (rule.prefix or "").startswith(prefix)
            if days and rule.status == "Enabled" and covers:
                found.append(int(days))
        return found


def _number(error: CheckpointStorageError) -> int | None:
    """Return the ``errno`` for an error response about the key."""
    return _CODES.get(str(getattr(error.__cause__, "code", "")))
