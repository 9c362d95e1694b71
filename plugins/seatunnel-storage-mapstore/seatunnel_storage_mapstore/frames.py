"""Encoding of the changes of a map: records in frames, each frame with its own checksums.

A frame is the unit of writing: a group of changes, or a snapshot of all entries::

    magic             4 bytes
    format version    1 byte
    kind              1 byte      group or snapshot
    reserved          2 bytes     zero
    epoch             8 bytes, big endian
    number            8 bytes     of the group in its epoch; of a snapshot, the last group that it includes
    body length       8 bytes
    CRC-32            4 bytes     of the map's name and all preceding fields
    SHA-256          32 bytes     of the map's name, all preceding fields and the body
    body
    end               1 byte      a line feed

The CRC covers only the header, so a length is used only after it was verified, and is then compared with the available
bytes: damaged data cannot make a reader allocate excessive memory. The name of the map is part of both checksums but is
not stored, so a frame copied from another map is detected as damage. The end is not zero, which distinguishes a
complete frame from one truncated by a crash on a file system that then shows zeros.

The body contains records: operation (1 byte), length of the key (2 bytes), length of the value (4 bytes), the key in
UTF-8, the value. The value of a *remote* record is the location of the bytes: their length (8 bytes), SHA-256 and name.
Stored data is never executed.
"""

import enum
import hashlib
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import frozen

from seatunnel_storage_api.errors import CheckpointCorruptedError, StorageUsageError, UnsupportedFormatError

FORMAT_VERSION = 1
MAX_KEY_BYTES = 2**16 - 1

_MAGIC = b"\x89map"
_END = b"\n"
_HEADER = struct.Struct(">4sBBHQQQ")
_CRC = struct.Struct(">I")
_DIGEST_BYTES = 32
_BODY_AT = _HEADER.size + _CRC.size + _DIGEST_BYTES
OVERHEAD_BYTES = _BODY_AT + len(_END)
"""Size of a frame without its records, in bytes."""

_RECORD = struct.Struct(">BHI")
_REMOTE = struct.Struct(">Q32s")
_DELETE, _INLINE, _REMOTE_VALUE = 0, 1, 2


class Kind(enum.IntEnum):
    """Content of a frame."""

    GROUP = 1
    SNAPSHOT = 2


@frozen
class Remote:
    """Value that is too large for the log and is stored in a separate object."""

    name: str
    """Path of the object, below the map's folder."""

    size_bytes: int
    sha256: bytes


Entry = bytes | Remote
Change = tuple[str, Entry | None]
"""Key and its new value; ``None`` to remove the key."""


@frozen
class Frame:
    """Frame with verified bytes."""

    kind: Kind
    epoch: int
    number: int
    body: memoryview


class IncompleteFrameError(Exception):
    """The data ends within a frame, because its writer died before it reported the frame as durable."""


def record(key: str, entry: Entry | None) -> bytes:
    """Encode one change; raise ``StorageUsageError`` for a key that is too long or cannot be encoded as UTF-8."""
    try:
        name = key.encode()
    except UnicodeEncodeError as cause:
        raise StorageUsageError(
            f"the key {key!r} of a map cannot be written as UTF-8. Use a string without surrogates"
        ) from cause
    if len(name) > MAX_KEY_BYTES:
        raise StorageUsageError(
            f"the key {key[:40]!r}… of a map has {len(name)} bytes; the maximum is {MAX_KEY_BYTES}. Move the long "
            "part to the value"
        )
    if entry is None:
        return _RECORD.pack(_DELETE, len(name), 0) + name
    if isinstance(entry, Remote):
        value = _REMOTE.pack(entry.size_bytes, entry.sha256) + entry.name.encode()
        return _RECORD.pack(_REMOTE_VALUE, len(name), len(value)) + name + value
    return b"".join((_RECORD.pack(_INLINE, len(name), len(entry)), name, entry))


def snapshot_body(entries: Mapping[str, Entry]) -> bytes:
    """Encode all entries, one record each."""
    return b"".join(record(key, entry) for key, entry in entries.items())


def changes(body: memoryview, where: str) -> Iterator[Change]:
    """Yield the changes in a frame, in the order in which they were made.

    Raises:
        CheckpointCorruptedError: The records do not fill the body exactly, which the checksum cannot detect.
    """
    at = 0
    while at < len(body):
        operation, key_bytes, value_bytes = _unpacked(_RECORD, body, at, where)
        start = at + _RECORD.size + key_bytes
        at = start + value_bytes
        if at > len(body):
            raise damaged(where, "a record is longer than the frame that contains it")
        try:
            key = str(body[start - key_bytes : start], "utf-8")
            yield key, _entry(operation, body[start:at], where)
        except UnicodeDecodeError as cause:
            raise damaged(where, "a record contains a name that is not UTF-8") from cause


def _entry(operation: int, value: memoryview, where: str) -> Entry | None:
    if operation == _INLINE:
        return bytes(value)
    if operation == _REMOTE_VALUE:
        size_bytes, sha256 = _unpacked(_REMOTE, value, 0, where)
        return Remote(str(value[_REMOTE.size :], "utf-8"), size_bytes, sha256)
    if operation == _DELETE and not value:
        return None
    raise damaged(where, f"a record has the unknown operation {operation}")


def _unpacked(structure: struct.Struct, body: memoryview, at: int, where: str) -> tuple[Any, ...]:
    if len(body) - at < structure.size:
        raise damaged(where, "a record is truncated")
    return structure.unpack_from(body, at)


def sealed(kind: Kind, body: Iterable[bytes], *, map_name: str, epoch: int, number: int) -> bytes:
    """Encode a frame."""
    parts = list(body)
    header = _HEADER.pack(_MAGIC, FORMAT_VERSION, kind, 0, epoch, number, sum(map(len, parts)))
    header += _CRC.pack(zlib.crc32(header, _seed(map_name)))
    digest = hashlib.sha256(map_name.encode() + header)
    for part in parts:
        digest.update(part)
    return b"".join((header, digest.digest(), *parts, _END))


def opened(data: memoryview, *, map_name: str, where: str) -> tuple[Frame, int]:
    """Decode the frame at the beginning of ``data``; return it and its length in bytes.

    Raises:
        IncompleteFrameError: ``data`` ends before the frame does.
        CheckpointCorruptedError: A byte differs from the written data.
        UnsupportedFormatError: The frame is intact but has a newer format.
    """
    if len(data) < _BODY_AT:
        raise IncompleteFrameError
    magic, version, kind, _, epoch, number, length = _HEADER.unpack_from(data)
    (crc,) = _CRC.unpack_from(data, _HEADER.size)
    if magic != _MAGIC or crc != zlib.crc32(data[: _HEADER.size], _seed(map_name)):
        raise damaged(where, "the header of a frame is damaged or belongs to another map")
    end = _BODY_AT + length
    if end >= len(data):
        raise IncompleteFrameError
    digest = hashlib.sha256(map_name.encode() + data[: _HEADER.size + _CRC.size])
    digest.update(data[_BODY_AT:end])
    if digest.digest() != data[_BODY_AT - _DIGEST_BYTES : _BODY_AT] or data[end : end + 1] != _END:
        raise damaged(where, "the SHA-256 of a frame does not match")
    if version != FORMAT_VERSION or kind not in tuple(Kind):
        raise UnsupportedFormatError(
            f"cannot read {where}: it has format version {version}, but this plugin reads version {FORMAT_VERSION}. "
            "Use the version that wrote it, or a newer one"
        )
    return Frame(Kind(kind), epoch, number, data[_BODY_AT:end]), end + 1


def _seed(map_name: str) -> int:
    return zlib.crc32(map_name.encode())


def damaged(where: str, problem: str) -> CheckpointCorruptedError:
    """Return the error for a damaged log."""
    return CheckpointCorruptedError(
        f"cannot read {where}: it is damaged: {problem}. Restore it from a backup. Without a backup, remove nothing: "
        "start the job under another id, or move the folder of the map elsewhere and start with an empty map"
    )
