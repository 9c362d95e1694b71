"""Checkpoints in HDFS, through WebHDFS."""

import contextlib
import secrets
from collections.abc import Iterable, Iterator

from seatunnel_core.clients.webhdfs.client import WebHdfs
from seatunnel_storage_api.blob import Blob, BlobStorage
from seatunnel_storage_api.errors import StorageFailureError
from seatunnel_storage_api.layout import TEMPORARY_FOLDER
from seatunnel_storage_api.retry import Backoff

BACKEND = "HDFS"


class WebHdfsStorage(BlobStorage):
    """Storage of blobs as files below the namespace. ``address``, such as ``hdfs://host:port``, precedes the namespace.

    An HDFS file is visible while it is being written, and the output of a dead writer remains. Therefore a put writes a
    file with a unique name in ``.tmp/`` next to its target, makes the DataNodes sync it, and renames it. The rename
    never overwrites, and is a single entry in the NameNode's log. A checkpoint costs four requests (two to create, one
    to rename and one to list), and one more for each expired file.
    """

    def __init__(
        self, webhdfs: WebHdfs, *, address: str, namespace: str, max_retained: int, backoff: Backoff | None = None
    ) -> None:
        super().__init__(backend=BACKEND, namespace=namespace, max_retained=max_retained, backoff=backoff)
        self._webhdfs = webhdfs
        self._address = address

    def put_if_absent(self, key: str, body: bytes) -> bool:
        folder, _, name = self._path(key).rpartition("/")
        # Never reuse a name: an abandoned write may still be in progress.
        unfinished = f"{folder}/{TEMPORARY_FOLDER}/{name}.{secrets.token_hex(8)}"
        self._webhdfs.create(unfinished, body)
        if self._webhdfs.rename(unfinished, f"{folder}/{name}"):
            return True
        with contextlib.suppress(StorageFailureError):  # the next engine removes it
            self._webhdfs.delete(unfinished)
        return False

    def read(self, key: str) -> bytes | None:
        return self._webhdfs.read(self._path(key))

    def list_blobs(self, prefix: str) -> Iterator[Blob]:
        """List a pipeline consistently in one request; list a job or all jobs with one request per folder."""
        return self._files(prefix)

    def unfinished(self, prefix: str) -> Iterator[Blob]:
        return (blob for blob in self._files(prefix, hidden=True) if f"/{TEMPORARY_FOLDER}/" in blob.key)

    def delete(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._webhdfs.delete(self._path(key))

    def sweep_unfinished(self, folder: str, before: str) -> None:
        unfinished = self._path(folder + TEMPORARY_FOLDER)
        for entry in self._webhdfs.entries(unfinished):
            if entry["pathSuffix"] < before:
                self._webhdfs.delete(f"{unfinished}/{entry['pathSuffix']}")

    def locate(self, key: str) -> str:
        return self._address + self._path(key)

    def close(self) -> None:
        self._webhdfs.close()
        super().close()

    def probe(self) -> None:
        """Run the steps of a put once, with names that no listing returns; if the storage is read-only, only list."""
        self._attempt("use", "", self._list_it if self.read_only else self._try_everything)

    def _list_it(self) -> None:
        self._webhdfs.entries(self.namespace)

    def _try_everything(self) -> None:
        first = self._path(f".probe-{secrets.token_hex(8)}")
        second = f"{first}-renamed"
        self._webhdfs.make_folder(self.namespace)
        try:
            self._webhdfs.create(first, b"probe")
            self._webhdfs.rename(first, second)
            self._webhdfs.entries(self.namespace)
        finally:
            with contextlib.suppress(StorageFailureError):
                self._webhdfs.delete(first)
        self._webhdfs.delete(second)

    def _files(self, prefix: str, *, hidden: bool = False) -> Iterator[Blob]:
        """List the files below ``prefix``; ``hidden`` includes unfinished files."""
        for entry in self._webhdfs.entries(self._path(prefix)):
            name = entry["pathSuffix"]
            if entry["type"] != "DIRECTORY":
                modified_at = entry["modificationTime"] / 1_000
                yield Blob(key=prefix + name, size_bytes=entry["length"], modified_at=modified_at)
            elif hidden or name != TEMPORARY_FOLDER or not prefix:  # directly below the namespace it is a job's name
                yield from self._files(f"{prefix}{name}/", hidden=hidden)

    def _path(self, key: str) -> str:
        return self.namespace + key
