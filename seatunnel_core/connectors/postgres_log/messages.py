"""Messages of version 1 of the ``pgoutput`` protocol, except row messages."""

import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from attrs import field, frozen

from seatunnel_core.connectors.postgres_log.errors import MalformedLogError, UnsupportedLogError
from seatunnel_core.connectors.postgres_log.lsn import Lsn

INSERT, UPDATE, DELETE = b"IUD"
BEGIN, COMMIT, ORIGIN, RELATION, TYPE, TRUNCATE, MESSAGE = b"BCORYTM"

_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_BEGIN, _COMMIT = struct.Struct(">QqI"), struct.Struct(">BQQq")
_CASCADE, _RESTART = 1, 2


def server_time(microseconds: int) -> datetime:
    """Convert a log timestamp, in microseconds since 2000, to a time."""
    return _EPOCH + timedelta(microseconds=microseconds)


@frozen
class Origin:
    """Origin of a transaction that was replicated to this server."""

    lsn: Lsn
    name: str


@frozen
class RelationColumn:
    """A column of a published table."""

    name: str
    in_identity: bool
    """True if the column belongs to the replica identity and is therefore contained in old rows."""

    type_oid: int
    modifier: int
    """Type modifier; -1 if there is none."""


@frozen
class Relation:
    """One schema version of a published table."""

    oid: int
    namespace: str
    name: str
    identity: str
    """Replica identity: ``d`` (DEFAULT), ``f`` (FULL), ``i`` (INDEX) or ``n`` (NOTHING)."""

    columns: tuple[RelationColumn, ...] = field(repr=False)


@frozen
class TypeName:
    """A type that is not built in. A domain is described by the name of its base type."""

    oid: int
    namespace: str
    name: str


@frozen
class Truncate:
    """A TRUNCATE of tables."""

    relations: tuple[int, ...]
    cascade: bool
    restart_identity: bool


@frozen
class LogicalMessage:
    """A message that a client wrote with ``pg_logical_emit_message``."""

    transactional: bool
    lsn: Lsn
    prefix: str
    content: bytes = field(repr=False)


class _Fields:
    """Sequential reader for the fields of a message."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 1

    def number(self, size: int, *, signed: bool = False) -> int:
        return int.from_bytes(self.bytes(size), "big", signed=signed)

    def bytes(self, size: int) -> bytes:
        found = self._data[self._at : self._at + size]
        if len(found) < size:
            raise MalformedLogError("it ends early")
        self._at += size
        return found

    def text(self) -> str:
        end = self._data.find(0, self._at)
        if end < 0:
            raise MalformedLogError("it ends inside a name")
        found = self._data[self._at : end]
        self._at = end + 1
        try:
            return found.decode()
        except UnicodeDecodeError:
            raise MalformedLogError(f"the name {found!r} is not UTF-8") from None

    def require_end(self) -> None:
        if self._at != len(self._data):
            raise MalformedLogError(f"it has {len(self._data) - self._at} more bytes than expected")


def begin_of(data: Any, at: int) -> tuple[int, int, int]:
    """Parse the start of a committed transaction.

    Args:
        data: Bytes or a memory view, up to the end of the message.
        at: Start of the message.

    Returns:
        The position of the commit, its time in microseconds since 2000, and the 32-bit ID of the transaction.

    Raises:
        MalformedLogError: The message has an unexpected size.
    """
    _require_size(data, at, _BEGIN)
    found: tuple[int, int, int] = _BEGIN.unpack_from(data, at + 1)
    return found


def commit_of(data: Any, at: int) -> tuple[int, int]:
    """Parse the end of a transaction.

    Args:
        data: Bytes or a memory view, up to the end of the message.
        at: Start of the message.

    Returns:
        The position of the commit, and the position after it.

    Raises:
        MalformedLogError: The message has an unexpected size.
        UnsupportedLogError: The message has unknown flags.
    """
    _require_size(data, at, _COMMIT)
    flags, commit, end, _ = _COMMIT.unpack_from(data, at + 1)
    if flags:
        raise UnsupportedLogError(f"the message has unknown flags: {flags}")
    return commit, end


def _require_size(data: Any, at: int, form: struct.Struct) -> None:
    if len(data) != at + 1 + form.size:
        raise MalformedLogError(f"it has {len(data) - at} bytes instead of {form.size + 1}")


def _origin(fields: _Fields) -> Origin:
    return Origin(Lsn(fields.number(8)), fields.text())


def _relation(fields: _Fields) -> Relation:
    oid, namespace, name = fields.number(4), fields.text(), fields.text()
    identity = chr(fields.number(1))
    if identity not in "dfin":
        raise UnsupportedLogError(f"the replica identity {identity!r} of {namespace}.{name} is unknown")
    columns = tuple(_column(fields) for _ in range(fields.number(2)))
    return Relation(oid, namespace or "pg_catalog", name, identity, columns)


def _column(fields: _Fields) -> RelationColumn:
    flags, name = fields.number(1), fields.text()
    return RelationColumn(name, bool(flags & 1), fields.number(4), fields.number(4, signed=True))


def _type(fields: _Fields) -> TypeName:
    return TypeName(fields.number(4), fields.text() or "pg_catalog", fields.text())


def _truncate(fields: _Fields) -> Truncate:
    count, options = fields.number(4), fields.number(1)
    oids = tuple(fields.number(4) for _ in range(count))
    return Truncate(oids, bool(options & _CASCADE), bool(options & _RESTART))


def _message(fields: _Fields) -> LogicalMessage:
    flags, lsn, prefix = fields.number(1), Lsn(fields.number(8)), fields.text()
    return LogicalMessage(bool(flags & 1), lsn, prefix, fields.bytes(fields.number(4)))


Message = Origin | Relation | TypeName | Truncate | LogicalMessage

_OF_FIELDS: dict[int, Callable[[_Fields], Message]] = {
    ORIGIN: _origin,
    RELATION: _relation,
    TYPE: _type,
    TRUNCATE: _truncate,
    MESSAGE: _message,
}


def message_of(data: bytes) -> Message:
    """Parse a message that is neither a row nor the start or end of a transaction.

    Raises:
        MalformedLogError: The bytes do not match the format.
        UnsupportedLogError: The message type is unknown.
    """
    kind = data[0] if data else 0
    if kind not in _OF_FIELDS:
        raise UnsupportedLogError(f"the message type {chr(kind)!r} ({kind}) is unknown in version 1 of pgoutput")
    fields = _Fields(data)
    found = _OF_FIELDS[kind](fields)
    fields.require_end()
    return found
