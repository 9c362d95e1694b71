"""Stream of log events from a position to the current end of the log."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any
from zlib import crc32

from attrs import frozen

from seatunnel_core.connectors.jdbc.databases.mysql_connection import mysql_connection
from seatunnel_core.connectors.jdbc.databases.mysql_session import session_of
from seatunnel_core.connectors.mysql_cdc.server import Server, ServerReplacedError
from seatunnel_core.connectors.mysql_log import event_types as et
from seatunnel_core.connectors.mysql_log.errors import LogError
from seatunnel_core.connectors.mysql_log.events import (
    CHECKED,
    CHECKSUM_BYTES,
    HEADER,
    HEADER_BYTES,
    rotate_of,
)
from seatunnel_core.connectors.mysql_log.gtid import GtidSet
from seatunnel_core.connectors.mysql_log.position import LogPosition, unwrapped
from seatunnel_core.connectors.mysql_log.server_stream import DumpRequest, ServerStream

_ANONYMOUS = 0
"""Server ID of a reader that stops at the current end of the log. Any number of such readers may run concurrently."""

_MOST_OFFSET = 0xFFFFFFFF
"""Maximum file offset in a request."""

_FIRST_OFFSET = 4

Event = tuple[bytes, int, int]


@frozen
class LogStream:
    """Stream of events from a server, with its own connection."""

    _stream: ServerStream
    _start: LogPosition | GtidSet

    def events(self) -> Iterator[Event | None]:
        """Request the log, and return its events from the start position.

        Raises:
            LogServerError: The server rejects the request, or ends the stream with an error.
            LogError: The connection is lost, or no event begins at the start position.
        """
        events = self._stream.events()
        if isinstance(self._start, LogPosition) and self._start.offset > _MOST_OFFSET:
            return events_from(events, self._start)
        return events

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()


def log_stream(server: Server, start: LogPosition | GtidSet) -> LogStream:
    """Connect to a server to read its log from a start position.

    Raises:
        ServerReplacedError: The connection leads to a server other than the known one.
        SourceError: The server is not reachable or rejects the connection.
    """
    session = session_of(server.dialect.address, server.dialect.literal)
    try:
        connection = mysql_connection(session.parameters)
        server.require_known(connection, partial(_rows, connection))
    except ServerReplacedError:
        raise
    except Exception as error:
        raise server.failed("the log of the server cannot be read", error) from error
    requested = start
    if isinstance(start, LogPosition) and start.offset > _MOST_OFFSET:
        requested = LogPosition(start.file, _FIRST_OFFSET)
    return LogStream(
        ServerStream(connection, DumpRequest(start=requested, server_id=_ANONYMOUS, until_now=True)), start
    )


def _rows(connection: Any, statement: str) -> Sequence[Sequence[Any]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        found: Sequence[Sequence[Any]] = cursor.fetchall()
        return found


def events_from(events: Iterator[Event | None], start: LogPosition) -> Iterator[Event | None]:
    """Yield the format description event, and then the events of a file from an offset.

    The protocol only supports start offsets below 4 GiB. A larger file, which contains a large transaction, is read
    from its beginning.

    Raises:
        LogError: No event begins at the offset.
    """
    at, reached = _FIRST_OFFSET, False
    for event in events:
        if reached or event is None:
            yield event
            continue
        _, kind, _, size, log_pos, _ = HEADER.unpack_from(event[0], event[1])
        if kind in (et.HEARTBEAT, et.HEARTBEAT_V2) or (kind == et.ROTATE and _names(event, start.file)):
            continue  # The event is not in the file.
        begin = at
        reached = begin >= start.offset
        if begin > start.offset or (kind == et.ROTATE and not reached):
            raise LogError(f"no event begins at {start}; the nearest one begins at {begin}")
        if reached or kind == et.FORMAT_DESCRIPTION:  # Another event would move the decoder: offsets lack high bits.
            yield event
        at = unwrapped(at + size, log_pos)


def _names(event: Event, file: str) -> bool:
    """Return True for a rotate event to the given file, which the server sends at the start of a stream."""
    data, start, end = event
    if crc32(data[start:end]) == CHECKED:
        end -= CHECKSUM_BYTES
    return rotate_of(data[start + HEADER_BYTES : end])[0] == file


def begun_s(server: Server, file: str) -> int:
    """Return the time at which the server started to write a log file, in seconds since 1970.

    Raises:
        SourceError: The log cannot be read.
    """
    with closing(log_stream(server, LogPosition(file, _FIRST_OFFSET))) as stream:
        for event in stream.events():
            if event is None:
                continue
            timestamp, kind, *_ = HEADER.unpack_from(event[0], event[1])
            if kind == et.FORMAT_DESCRIPTION:
                found: int = timestamp
                return found
    raise LogError(f"{server.dialect.address}: the log file {file} does not begin with a format description event")
