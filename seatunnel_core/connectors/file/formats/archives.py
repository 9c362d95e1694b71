"""Files inside archives (``archive_compress_codec``). Each member is extracted to an anonymous temporary file."""

import errno
import gzip
import os
import shutil
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any, BinaryIO, Literal, cast

import pyarrow as pa

from seatunnel_core.connector_api.errors import SourceError, UsageError
from seatunnel_core.connector_api.source import ReadContext
from seatunnel_core.connectors.file.formats.source_format import SourceFormat
from seatunnel_core.connectors.filesystems.filesystem import FileVersion, OpenFile
from seatunnel_core.connectors.filesystems.local import LocalOpenFile
from seatunnel_core.connectors.filesystems.pattern import is_visible

KINDS = ("zip", "tar", "tar_gz", "gz")

_COPY_BYTES = 1 << 20


class Archived(SourceFormat):
    """File format that reads another format's files from archives. Each archive is one split."""

    def __init__(self, inner: SourceFormat, kind: str) -> None:
        self._inner = inner
        super().__init__(inner.name, inner.options)
        if inner.name == "binary":
            raise UsageError(
                "option 'archive_compress_codec': not supported with binary, which copies files unchanged; remove it"
            )
        self._kind = kind
        self.typed = inner.typed
        self.task_modules = inner.task_modules

    def let_lack(self, names: frozenset[str]) -> None:
        self._inner.let_lack(names)

    def columns_of(self, declared: pa.Schema | None) -> pa.Schema | None:
        return self._inner.columns_of(declared)

    def infer(self, file: OpenFile) -> pa.Schema:
        for member in self._members(file):
            if member.version.size:
                return self._inner.infer(member)
        raise SourceError(f"{file.version.path} contains only empty members, so the columns cannot be inferred")

    def found(self, file: OpenFile, start: int, end: int) -> Any:
        members = [self._inner.found(member, 0, member.version.size) for member in self._members(file)]
        return [each for each in members if each is not None] or None

    def columns_found(self, found: Sequence[Any]) -> pa.Schema:
        if not self._inner.sample():
            return super().columns_found(found)
        return self._inner.columns_found([each for of_archive in found for each in of_archive])

    def sample(self) -> str:
        return self._inner.sample()

    def read(
        self, file: OpenFile, body: Mapping[str, Any], columns: pa.Schema, wanted: pa.Schema, context: ReadContext
    ) -> Iterator[pa.RecordBatch]:
        is_read = False
        for member in self._members(file):
            if member.version.size:
                is_read = True
                yield from self._inner.read(member, self._inner.whole(member), columns, wanted, context)
        file.check()
        if not is_read:
            context.note(
                "are read from archives that contain only empty or skipped members; members whose name or folder "
                "starts with . or _ are skipped",
                file.version.path,
                rows=0,
            )

    def _members(self, file: OpenFile) -> Iterator["Member"]:
        """Yield the members, each open until the next is requested. Skip names that start with ``.`` or ``_``."""
        with file.python_file() as content, _damage_named(file.version.path):
            for name, unpacked in _MEMBERS[self._kind](content, file.version.path):
                if is_visible(name):
                    member = Member(file, name, unpacked)
                    with member:
                        yield member


class Member(LocalOpenFile):
    """An extracted file of an archive."""

    def __init__(self, archive: OpenFile, name: str, unpacked: IO[bytes]) -> None:
        self._archive = archive
        path = f"{archive.version.path}!{name}"
        with _damage_named(path), tempfile.TemporaryFile() as file:
            shutil.copyfileobj(unpacked, file, _COPY_BYTES)
            file.flush()
            self._descriptor = os.dup(file.fileno())
        size = os.fstat(self._descriptor).st_size
        self.version = FileVersion(path=path, size=size, mtime_ns=archive.version.mtime_ns)

    def stream(self, start: int = 0) -> pa.NativeFile:
        found = pa.OSFile(f"/dev/fd/{self._descriptor}", "rb")
        found.seek(start)
        return found

    def check(self) -> None:
        self._archive.check()


class _UnreadableError(Exception):
    """A member that cannot be extracted; the message states the reason."""


_DAMAGED = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, struct.error, EOFError),
    *(ValueError, NotImplementedError, _UnreadableError),
)


@contextmanager
def _damage_named(path: str) -> Iterator[None]:
    """Convert errors about damaged data to a ``SourceError`` that names the archive or its member."""
    try:
        yield
    except (*_DAMAGED, OSError) as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):  # A seek to a negative position.
            raise
        raise SourceError(f"{path} cannot be unpacked: {error}") from error


def _zip(content: BinaryIO, path: str) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(content) as archive:
        for info in archive.infolist():
            if info.is_dir():
                continue
            if info.flag_bits & 1:
                raise _UnreadableError(f"the member {info.filename} is encrypted")
            with archive.open(info) as member:
                yield info.filename, member


def _tar(content: BinaryIO, path: str, mode: Literal["r|", "r|gz"] = "r|") -> Iterator[tuple[str, IO[bytes]]]:
    with tarfile.open(fileobj=content, mode=mode) as archive:
        for info in archive:
            member = archive.extractfile(info) if info.isfile() else None
            if member is not None:
                yield info.name.removeprefix("./"), member


def _tar_gz(content: BinaryIO, path: str) -> Iterator[tuple[str, IO[bytes]]]:
    return _tar(content, path, "r|gz")


def _gz(content: BinaryIO, path: str) -> Iterator[tuple[str, IO[bytes]]]:
    with gzip.GzipFile(fileobj=content) as member:
        yield os.path.basename(path).removesuffix(".gz"), cast(IO[bytes], member)


_MEMBERS = {"zip": _zip, "tar": _tar, "tar_gz": _tar_gz, "gz": _gz}
