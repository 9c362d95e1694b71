"""Compressed events, values and transactions."""

import struct
import zlib

import pyarrow as pa
import pytest

from seatunnel_core.connectors.mysql_log.change_batch import Outcome, Reason
from seatunnel_core.connectors.mysql_log.errors import (
    LogError,
    MalformedLogError,
    UnsupportedLogError,
)
from seatunnel_core.connectors.mysql_log.values.compressed_value import uncompressed, uncompressed_part
from tests.connectors.mysql_log.encoder import LogWriter, packed, packed_bytes
from tests.connectors.mysql_log.small_log import INT, decode, insert, started


def compressed_part(data: bytes) -> bytes:
    return bytes([0x84]) + len(data).to_bytes(4, "big") + zlib.compress(data)


def test_compressed_events_of_mariadb() -> None:
    log = LogWriter(server="10.11.6-MariaDB-log")
    log.format()
    log.event(162, (9).to_bytes(8, "little") + (3).to_bytes(4, "little") + b"\0" + bytes(6))
    log.table_map([INT])
    log.event(169, (9).to_bytes(6, "little") + b"\1\0\2\0\1\1" + compressed_part(b"\0\5\0\0\0\1"))
    head = struct.pack("<IIBHH", 1, 0, 4, 0, 0) + b"shop\0"
    log.event(165, head + compressed_part(b"COMMIT"))
    (batch,) = decode(log)
    assert batch.changes[0].rows.to_pydict() == {"id": [5, None]}
    assert str(batch.transactions[0].gtid) == "3-7-9"
    assert batch.transactions[0].outcome is Outcome.COMMITTED


def test_damaged_compressed_parts_are_an_error() -> None:
    part = compressed_part(b"abc" * 100)
    assert uncompressed_part(part) == b"abc" * 100
    for wrong in (b"", b"\4" + part[1:], part[:-10], b"\x84\0\0\0\1" + part[5:], part[:9] + b"xx" + part[11:]):
        with pytest.raises(MalformedLogError):
            uncompressed_part(wrong)
    with pytest.raises(UnsupportedLogError, match="method 1"):
        uncompressed_part(b"\x94" + part[1:])


def test_compressed_values_of_mariadb() -> None:
    data = "ä".encode() * 500
    raw = zlib.compressobj(wbits=-15)
    assert uncompressed(b"\x82" + len(data).to_bytes(2, "big") + zlib.compress(data)) == data
    assert uncompressed(b"\x8a" + len(data).to_bytes(2, "big") + raw.compress(data) + raw.flush()) == data
    assert uncompressed(b"\0short") == b"short"
    assert uncompressed(b"") == b""
    with pytest.raises(UnsupportedLogError, match="method 2"):
        uncompressed(b"\x20abc")
    with pytest.raises(MalformedLogError):
        uncompressed(b"\x82\0\5" + zlib.compress(b"x"))


def payload(log: LogWriter, inner: LogWriter, compression: int) -> bytes:
    data = b"".join(inner.written)
    stored = pa.compress(data, codec="zstd", asbytes=True) if compression == 0 else data
    body = b"\2" + packed_bytes(packed(compression)) + b"\1" + packed_bytes(packed(len(stored)))
    body += b"\3" + packed_bytes(packed(len(data))) + b"\0" + stored
    return log.event(40, body)


@pytest.mark.parametrize("compression", [0, 255])
def test_compressed_transactions_of_mysql(compression: int) -> None:
    inner = LogWriter(checksums=False)
    inner.query("BEGIN")
    for _ in range(3):
        insert(inner)
    inner.xid()
    log = started()
    log.gtid(7)
    start = log.offset
    payload(log, inner, compression)
    batches = decode(log, batch_rows=2)
    assert [each.rows for each in batches] == [2, 1]
    assert [each.changes[0].offsets.tolist() for each in batches] == [[start, start], [start]]
    assert batches[-1].position.offset == log.offset
    assert batches[-1].transactions[0].end.offset == log.offset
    assert str(batches[-1].transactions[0].gtid).endswith(":7")
    (stopped,) = decode(log, stop=lambda _: True)
    assert stopped.reason is Reason.STOP


def test_damaged_compressed_transactions_are_an_error() -> None:
    inner = LogWriter(checksums=False)
    inner.query("BEGIN")
    log = LogWriter(checksums=False)
    log.format()
    found = payload(log, inner, 255)
    for wrong in (found[: -len(inner.written[0])], found.replace(b"\2\3\xfc\xff\0", b"\2\3\xfc\7\1", 1)):
        log.written[-1] = wrong[:9] + len(wrong).to_bytes(4, "little") + wrong[13:]
        with pytest.raises(LogError):
            decode(log)
