"""A storage in one portable file: a ZIP file with the objects of a namespace in their stored form.

Any ZIP program can open it. The file is created atomically from a temporary folder when it is complete.
"""

import os
import secrets
import shutil
import threading
import zipfile
from collections.abc import Iterable
from pathlib import Path

from seatunnel_core.errors import UsageError
from seatunnel_storage_api.blob import Blob, BlobStorage
from seatunnel_storage_api.errors import CheckpointCorruptedError, StorageAccessError
from seatunnel_storage_api.storage import CheckpointStorage

ENDING = ".zip"

KEEP_ALL = 999_999_999
"""``max-retained`` for the destination of a copy: keeps all checkpoints until the engine stores checkpoints there."""

_MOMENT = (1980, 1, 1, 0, 0, 0)


class ArchiveStorage(BlobStorage):
    """An archive that is being written (until ``publish``) or read."""

    def __init__(self, path: Path, *, unpacked: Path | None = None, packed: zipfile.ZipFile | None = None) -> None:
        super().__init__(backend="archive", namespace=f"{path}/", max_retained=KEEP_ALL)
        self.path = path
        self._unpacked = unpacked
        self._packed = packed
        self._reading = threading.Lock()

    @classmethod
    def create(cls, path: Path) -> "ArchiveStorage":
        """Return a new, empty archive, or raise ``UsageError``. ``publish`` creates its file."""
        path = path.expanduser().absolute()
        if path.exists():
            raise UsageError(f"{path} exists already: choose another file; nothing is overwritten")
        unpacked = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        try:
            unpacked.mkdir()
        except OSError as error:
            raise UsageError(
                f"{path} cannot be written: {error.strerror}. Choose a file in an existing folder to which this "
                "user may write"
            ) from error
        return cls(path, unpacked=unpacked)

    @classmethod
    def read_from(cls, path: Path) -> "ArchiveStorage":
        """Open a published archive for reading; raise ``UsageError`` if the file is not an archive."""
        path = path.expanduser().absolute()
        try:
            packed = zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile) as error:
            raise UsageError(
                f"{path} cannot be read as an archive of checkpoints: {error}. Export the checkpoints again, or "
                "use another copy of the file"
            ) from error
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in packed.infolist()):
            packed.close()
            raise UsageError(f"{path} is not an archive of checkpoints: it contains compressed entries")
        return cls(path, packed=packed)

    def publish(self) -> None:
        """Create the file atomically and durably; raise ``UsageError`` if it exists."""
        unpacked = self._writable()
        partial = unpacked / "archive.part"
        with open(partial, "xb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as packed:
                for blob in sorted(self.list_blobs(""), key=lambda blob: blob.key):
                    with open(unpacked / "objects" / blob.key, "rb") as source:
                        entry = zipfile.ZipInfo(blob.key, date_time=_MOMENT)
                        entry.external_attr = 0o644 << 16
                        entry.file_size = blob.size_bytes
                        with packed.open(entry, "w") as target:
                            shutil.copyfileobj(source, target, 1 << 20)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(partial, self.path)
        except FileExistsError as error:
            raise UsageError(f"{self.path} exists already: choose another file; nothing is overwritten") from error
        _sync_folder(self.path.parent)

    def put_if_absent(self, key: str, body: bytes) -> bool:
        target = self._writable() / "objects" / key
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(target, "xb") as file:
                file.write(body)
        except FileExistsError:
            return False
        return True

    def read(self, key: str) -> bytes | None:
        if self._unpacked is not None:
            path = self._unpacked / "objects" / key
            return path.read_bytes() if path.is_file() else None
        assert self._packed is not None
        with self._reading:
            try:
                return self._packed.read(key)
            except KeyError:
                return None
            except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, OSError) as error:
                raise CheckpointCorruptedError(
                    f"cannot read {self.locate(key)} ({self.backend}): it is damaged: {error}. Export the "
                    "checkpoints again, or use another copy of the file"
                ) from error

    def list_blobs(self, prefix: str) -> Iterable[Blob]:
        if self._unpacked is not None:
            objects = self._unpacked / "objects"
            files = ((path.relative_to(objects).as_posix(), path) for path in objects.rglob("*") if path.is_file())
            found = [Blob(key=key, size_bytes=path.stat().st_size) for key, path in files]
        else:
            assert self._packed is not None
            found = [Blob(key=entry.filename, size_bytes=entry.file_size) for entry in self._packed.infolist()]
        return [blob for blob in found if blob.key.startswith(prefix)]

    def delete(self, keys: Iterable[str]) -> None:
        objects = self._writable() / "objects"
        for key in keys:
            (objects / key).unlink(missing_ok=True)

    def close(self) -> None:
        """Close the archive. Without ``publish``, no file remains."""
        if self._packed is not None:
            self._packed.close()
        if self._unpacked is not None:
            shutil.rmtree(self._unpacked, ignore_errors=True)
        super().close()

    def _writable(self) -> Path:
        if self._unpacked is None:
            raise StorageAccessError(
                f"an archive cannot be modified: copy the content of {self.path} to another storage"
            )
        return self._unpacked


def publish(storage: CheckpointStorage) -> None:
    """Complete the destination of a copy: publish an archive, and do nothing for other storages."""
    if isinstance(storage, ArchiveStorage):
        storage.publish()


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
