"""Messages of the replication stream, written by PostgreSQL's documentation of its formats."""

import struct
from collections.abc import Sequence
from types import EllipsisType

from attrs import frozen

Value = str | bytes | None | EllipsisType
"""A text, bytes of a text, null, or ``...`` for a value that has not changed and is not sent."""


@frozen
class Column:
    """A column of a message ``Relation``."""

    name: str
    oid: int = 25
    modifier: int = -1
    key: bool = False


def text(value: str) -> bytes:
    return value.encode() + b"\0"


def data(message: bytes, lsn: int = 1) -> bytes:
    """Wrap a message into one of the stream."""
    return b"w" + struct.pack(">QQq", lsn, lsn, 0) + message


def keepalive(end: int, *, reply: bool = False) -> bytes:
    return b"k" + struct.pack(">QqB", end, 0, reply)


def begin(commit_lsn: int, xid: int = 7, time: int = 0) -> bytes:
    return data(b"B" + struct.pack(">QqI", commit_lsn, time, xid))


def commit(commit_lsn: int, end_lsn: int, time: int = 0) -> bytes:
    return data(b"C" + struct.pack(">BQQq", 0, commit_lsn, end_lsn, time))


def origin(lsn: int, name: str) -> bytes:
    return data(b"O" + struct.pack(">Q", lsn) + text(name))


def relation(oid: int, name: str, columns: Sequence[Column], identity: str = "d") -> bytes:
    head = b"R" + struct.pack(">I", oid) + text("shop") + text(name) + identity.encode()
    listed = b"".join(
        bytes([each.key]) + text(each.name) + struct.pack(">Ii", each.oid, each.modifier) for each in columns
    )
    return data(head + struct.pack(">H", len(columns)) + listed)


def type_name(oid: int, namespace: str, name: str) -> bytes:
    return data(b"Y" + struct.pack(">I", oid) + text(namespace) + text(name))


def row(values: Sequence[Value]) -> bytes:
    return struct.pack(">H", len(values)) + b"".join(map(_value, values))


def _value(value: Value) -> bytes:
    if value is None:
        return b"n"
    if isinstance(value, EllipsisType):
        return b"u"
    raw = value.encode() if isinstance(value, str) else value
    return b"t" + struct.pack(">I", len(raw)) + raw


def insert(oid: int, values: Sequence[Value]) -> bytes:
    return data(b"I" + struct.pack(">I", oid) + b"N" + row(values))


def update(oid: int, new: Sequence[Value], old: Sequence[Value] | None = None, marker: str = "O") -> bytes:
    before = b"" if old is None else marker.encode() + row(old)
    return data(b"U" + struct.pack(">I", oid) + before + b"N" + row(new))


def delete(oid: int, old: Sequence[Value], marker: str = "O") -> bytes:
    return data(b"D" + struct.pack(">I", oid) + marker.encode() + row(old))


def truncate(oids: Sequence[int], options: int = 0) -> bytes:
    return data(b"T" + struct.pack(">IB", len(oids), options) + b"".join(struct.pack(">I", oid) for oid in oids))


def message(prefix: str, content: bytes, *, transactional: bool = True, lsn: int = 1) -> bytes:
    head = b"M" + struct.pack(">BQ", transactional, lsn) + text(prefix)
    return data(head + struct.pack(">I", len(content)) + content)
