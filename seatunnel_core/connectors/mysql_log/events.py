"""Parsers for the bodies of log events, except row events."""

import struct

from attrs import field, frozen

from seatunnel_core.connectors.mysql_log.errors import UnsupportedLogError
from seatunnel_core.connectors.mysql_log.fields import Fields
from seatunnel_core.connectors.mysql_log.values.charsets import charset_of, decoder_of

HEADER_BYTES = 19
HEADER = struct.Struct("<IBIIIH")
"""Timestamp in seconds, type, server ID, size, end position (lower 32 bits), flags."""

CHECKSUM_BYTES = 4
CHECKED = 0x2144DF1C
"""Constant CRC-32 of data followed by its own CRC-32, used to verify checksums."""

_UTF8 = 45


@frozen(kw_only=True)
class FormatDescription:
    """The first event of a file."""

    server_version: str
    checksums: bool
    """True if a CRC-32 follows each event."""


def format_description_of(body: bytes) -> FormatDescription:
    """Parse a format description event, including its checksum.

    Raises:
        UnsupportedLogError: The log was written by MySQL before 5.0, or has an unknown checksum.
    """
    fields = Fields(body, "a format description event")
    version = fields.integer(2)
    if version != 4:
        raise UnsupportedLogError(
            f"the log has format version {version}; only version 4 (MySQL 5.0 and later) is supported"
        )
    server = fields.take(50).rstrip(b"\0").decode("ascii", "replace")
    fields.take(4)
    if fields.integer(1) != HEADER_BYTES:
        raise UnsupportedLogError("the log has event headers of an unknown size")
    if not _has_checksum_field(server):
        return FormatDescription(server_version=server, checksums=False)
    algorithm = fields.rest()[-1 - CHECKSUM_BYTES]
    if algorithm > 1:
        raise UnsupportedLogError(
            f"the log uses the checksum algorithm {algorithm}, which this version does not support"
        )
    return FormatDescription(server_version=server, checksums=algorithm == 1)


def _has_checksum_field(server: str) -> bool:
    """Return True unless the server is older than MySQL 5.6.1 or MariaDB 5.3."""
    numbers = [int("".join(c for c in part if c.isdigit()) or 0) for part in server.split("-")[0].split(".")[:3]]
    return tuple(numbers) >= ((5, 3, 0) if "maria" in server.lower() else (5, 6, 1))


@frozen(kw_only=True)
class QueryEvent:
    """A logged statement, including BEGIN, COMMIT and SAVEPOINT."""

    database: str
    """Default database of the session."""

    text: str = field(repr=False)
    databases: tuple[str, ...] | None = None
    """Databases that the statement changes, as logged by MySQL; ``None`` if unknown."""

    error_code: int = 0
    """Error code if the statement failed on the server after changing some rows; otherwise 0."""


_SIZES = {0: 4, 1: 8, 3: 4, 7: 2, 8: 2, 9: 8, 10: 4, 13: 3, 16: 1, 17: 8, 18: 2, 19: 1, 20: 1, 128: 3, 129: 8}
"""Sizes of status variables in bytes, keyed by code."""

_CATALOG, _CHARSET, _TIME_ZONE, _CATALOG_WITHOUT_NUL, _INVOKER, _DATABASES = 2, 4, 5, 6, 11, 12
_ALTER_PHASE = 130
"""Status variable with the phase of an ALTER TABLE statement in MariaDB. In the final phase, the number of the first
event follows.
"""

_ALTER_ENDED = 0x04 | 0x08
_TOO_MANY_DATABASES = 254


def query_of(body: bytes) -> QueryEvent:
    """Parse a query event."""
    fields = Fields(body, "a query event")
    fields.take(8)
    name_length, error_code, status_length = fields.integer(1), fields.integer(2), fields.integer(2)
    collation, databases = _status(Fields(fields.take(status_length), "the status of a query event"))
    database = fields.take(name_length).decode()
    fields.take(1)
    return QueryEvent(
        database=database,
        text=_decoded(fields.rest(), collation),
        databases=databases,
        error_code=error_code,
    )


def _decoded(text: bytes, collation: int) -> str:
    """Decode the text of a statement, which may contain arbitrary bytes in literals."""
    try:
        charset = charset_of(collation, "a statement")
        return decoder_of("utf8mb4" if charset == "binary" else charset)(text)
    except (UnicodeDecodeError, UnsupportedLogError):
        return text.decode("utf-8", "backslashreplace")


def _status(fields: Fields) -> tuple[int, tuple[str, ...] | None]:
    """Return the collation of the statement and the changed databases from the status variables."""
    collation, databases = _UTF8, None
    while fields.left:
        code = fields.integer(1)
        if code == _CHARSET:
            collation = fields.integer(2)
            fields.take(4)
        elif code == _DATABASES:
            count = fields.integer(1)
            if count != _TOO_MANY_DATABASES:
                databases = tuple(fields.until_nul().decode() for _ in range(count))
        elif code == _CATALOG:
            fields.take(fields.integer(1) + 1)
        elif code in (_TIME_ZONE, _CATALOG_WITHOUT_NUL):
            fields.sized()
        elif code == _INVOKER:
            fields.sized()
            fields.sized()
        elif code == _ALTER_PHASE:
            fields.take(8 if fields.integer(1) & _ALTER_ENDED else 0)
        elif code in _SIZES:
            fields.take(_SIZES[code])
        else:  # The size of an unknown variable is also unknown.
            break
    return collation, databases


def rotate_of(body: bytes) -> tuple[str, int]:
    """Parse a rotate event. Return the name of the next file and the offset of its first event."""
    fields = Fields(body, "a rotate event")
    offset = fields.integer(8)
    return fields.rest().decode(), offset


def incident_of(body: bytes) -> str:
    """Parse an incident event, and return the server's message."""
    fields = Fields(body, "an incident event")
    number = fields.integer(2)
    return f"incident {number}: {fields.sized().decode('utf-8', 'replace')}"


@frozen(kw_only=True)
class XaId:
    """Identifier of a distributed transaction."""

    format: int
    global_part: bytes
    branch: bytes

    def __str__(self) -> str:
        """Format the identifier in the syntax of an XA COMMIT statement."""
        return f"X'{self.global_part.hex()}',X'{self.branch.hex()}',{self.format}"


def xa_prepare_of(body: bytes) -> tuple[XaId, bool]:
    """Parse an XA prepare event. Return the identifier, and whether the commit is one-phase."""
    fields = Fields(body, "an XA prepare event")
    one_phase = bool(fields.integer(1))
    format_id, first, second = fields.integer(4), fields.integer(4), fields.integer(4)
    return XaId(format=format_id, global_part=fields.take(first), branch=fields.take(second)), one_phase
