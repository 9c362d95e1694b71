"""Readers of events in a log file or in a compressed transaction."""

import struct
from collections.abc import Iterator
from typing import Any, BinaryIO

import pyarrow as pa

from seatunnel_core.connectors.mysql_log.errors import MalformedLogError
from seatunnel_core.connectors.mysql_log.events import HEADER_BYTES

_MAGIC = b"\xfebin"
_CHUNK_BYTES = 1 << 20
_SIZE = struct.Struct("<I").unpack_from
_MOST_BYTES = 1 << 30
"""Maximum size of an event in bytes, which is the upper limit of ``max_allowed_packet``."""


def file_events(file: BinaryIO) -> Iterator[tuple[bytes, int, int]]:
    """Return the events of a log file.

    Raises:
        MalformedLogError: The file is not a log file, or ends inside an event.
    """
    if file.read(len(_MAGIC)) != _MAGIC:
        raise MalformedLogError("the file is not a binary log: its magic number is wrong")
    return events_of(file)


def events_of(file: Any) -> Iterator[tuple[bytes, int, int]]:
    """Yield consecutive events as buffers with offsets.

    Raises:
        MalformedLogError: The last event is incomplete, or a size is invalid.
    """
    left = b""
    while chunk := _read(file):
        data = left + chunk
        at, end = 0, len(data)
        while end - at >= HEADER_BYTES:
            (size,) = _SIZE(data, at + 9)
            if not HEADER_BYTES <= size <= _MOST_BYTES:
                raise MalformedLogError(f"an event header contains the invalid size of {size} bytes")
            if end - at < size:
                data = data[at:] + _exactly(file, size - (end - at))
                at, end = 0, len(data)
            yield data, at, at + size
            at += size
        left = data[at:]
    if left:
        raise MalformedLogError(f"the log ends with {len(left)} bytes of an incomplete event")


def _exactly(file: Any, count: int) -> bytes:
    parts = []
    while count:
        part = _read(file, min(count, _CHUNK_BYTES))
        if not part:
            raise MalformedLogError(f"the log ends inside an event: {count} bytes are missing")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _read(file: Any, count: int = _CHUNK_BYTES) -> bytes:
    try:
        return bytes(file.read(count))
    except (OSError, pa.ArrowException) as error:
        raise MalformedLogError(f"the log cannot be read: {error}") from None
