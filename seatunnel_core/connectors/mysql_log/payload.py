"""MySQL's compressed transactions (``binlog_transaction_compression``).

Implemented from MySQL's documentation, and not tested with a server.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from seatunnel_core.connectors.mysql_log.errors import MalformedLogError, UnsupportedLogError
from seatunnel_core.connectors.mysql_log.fields import Fields
from seatunnel_core.connectors.mysql_log.log_file import events_of

_END, _SIZE, _COMPRESSION, _UNCOMPRESSED_SIZE = 0, 1, 2, 3
_ZSTD, _NONE = 0, 255


def payload_events(body: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Yield the events in a transaction payload event. They have no checksums.

    Raises:
        MalformedLogError: The payload is damaged.
        UnsupportedLogError: The compression is unknown.
    """
    fields = Fields(body, "a compressed transaction")
    compression, size = _NONE, None
    while (kind := fields.packed()) != _END:
        value = Fields(fields.packed_bytes(), "a field of a compressed transaction")
        if kind == _COMPRESSION:
            compression = value.packed()
        elif kind == _SIZE:
            size = value.packed()
    data = fields.rest()
    if size is not None and size != len(data):
        raise MalformedLogError(f"a compressed transaction has {len(data)} bytes, expected {size}")
    yield from events_of(_opened(data, compression))


def _opened(data: bytes, compression: int) -> Any:
    if compression == _NONE:
        return pa.BufferReader(data)
    if compression != _ZSTD:
        raise UnsupportedLogError(
            f"a transaction uses the compression {compression}, which this version does not support"
        )
    return pa.CompressedInputStream(pa.BufferReader(data), "zstd")
