"""Stream of log events from a server over a PyMySQL connection."""

import contextlib
import struct
import time
from collections.abc import Callable, Iterator
from typing import Any

from attrs import define, field, frozen

from seatunnel_core.connectors.mysql_log.errors import LogError, LogServerError, MalformedLogError
from seatunnel_core.connectors.mysql_log.gtid import GtidSet, MariaGtidPosition
from seatunnel_core.connectors.mysql_log.position import LogPosition

_BINLOG_DUMP, _BINLOG_DUMP_GTID = 0x12, 0x1E
_NON_BLOCKING = 1
_THROUGH_GTID = 4
_GTID_SLAVE = 4
"""Capability flag by which a MariaDB replica declares support for GTID events."""

_OK, _EOF, _ERROR = 0x00, 0xFE, 0xFF
_PACKET = struct.Struct("<I").unpack_from
"""Size of a packet in bytes, with its sequence number in the highest byte."""

_WHOLE_PACKET = 0xFFFFFF
"""Size in bytes of a full packet. Its content continues in the next packet."""

_CHUNK_BYTES = 1 << 18
_WRITE_TIMEOUT_S = 3_600
"""Time for which the server waits for a slow reader, in seconds; the server's default is one minute."""


@frozen(kw_only=True)
class DumpRequest:
    """Parameters of a stream request."""

    start: LogPosition | GtidSet | MariaGtidPosition
    """Start position, or the GTIDs of transactions that the server must not send."""

    server_id: int
    """ID of the reader. No other reader or replica of the server may use it at the same time."""

    until_now: bool = False
    """True to end the stream at the current end of the log instead of waiting for further events."""

    heartbeat_s: float = 10.0
    """Time without events after which the server sends a heartbeat, in seconds."""


@define
class ServerStream:
    """Event stream of a server. It owns the connection, which can no longer run statements."""

    connection: Any
    """An open PyMySQL connection."""

    request: DumpRequest
    idle_s: float | None = None
    """Time without events after which ``events`` yields ``None``, in seconds; ``None`` to wait for a heartbeat."""

    clock: Callable[[], float] = time.monotonic
    _socket: Any = field(init=False, default=None)

    def events(self) -> Iterator[tuple[bytes, int, int] | None]:
        """Request the log, and yield its events. Yield ``None`` after ``idle_s`` seconds without an event.

        Raises:
            LogServerError: The server rejects the request, or ends the stream with an error.
            LogError: The connection is lost, or the server sends no data for too long.
        """
        self._prepare()
        self._socket = self.connection._sock
        self._send(self._command())
        return self._received()

    def close(self) -> None:
        """Close the connection. The server ends the stream when it sends the next event."""
        with contextlib.suppress(OSError):
            self.connection._force_close()

    def _prepare(self) -> None:
        """Set the session variables that make the server send checksums and heartbeats."""
        is_maria = "mariadb" in self.connection.get_server_info().lower()
        nanoseconds = int(self.request.heartbeat_s * 1e9)
        settings = ["@master_binlog_checksum = @@global.binlog_checksum", f"@master_heartbeat_period = {nanoseconds}"]
        settings.append(f"net_write_timeout = {_WRITE_TIMEOUT_S}")
        if is_maria:
            settings.append(f"@mariadb_slave_capability = {_GTID_SLAVE}")
        else:
            settings += ["@source_binlog_checksum = @@global.binlog_checksum"]
            settings += [f"@source_heartbeat_period = {nanoseconds}"]
        if isinstance(self.request.start, MariaGtidPosition):
            settings += [f"@slave_connect_state = '{self.request.start}'", "@slave_gtid_strict_mode = 1"]
            settings += ["@slave_gtid_ignore_duplicates = 0"]
        if isinstance(self.request.start, GtidSet if is_maria else MariaGtidPosition):
            raise LogError(
                f"the start position {self.request.start} does not consist of "
                f"{'MariaDB' if is_maria else 'MySQL'} GTIDs"
            )
        with self.connection.cursor() as cursor:
            cursor.execute("SET " + ", ".join(settings))

    def _command(self) -> bytes:
        request, flags = self.request, _NON_BLOCKING if self.request.until_now else 0
        server_id = request.server_id.to_bytes(4, "little")
        if isinstance(request.start, GtidSet):
            found = request.start.encoded()
            return b"".join(
                (
                    bytes([_BINLOG_DUMP_GTID]),
                    (flags | _THROUGH_GTID).to_bytes(2, "little"),
                    server_id,
                    (0).to_bytes(4, "little"),
                    (4).to_bytes(8, "little"),
                    len(found).to_bytes(4, "little"),
                    found,
                )
            )
        at = request.start if isinstance(request.start, LogPosition) else LogPosition("", 4)
        if at.offset > 0xFFFFFFFF:
            raise LogError(f"the server cannot start at {at}: offsets must be below 4 GiB")
        head = bytes([_BINLOG_DUMP]) + at.offset.to_bytes(4, "little") + flags.to_bytes(2, "little")
        return head + server_id + at.file.encode()

    def _send(self, command: bytes) -> None:
        self._socket.sendall(len(command).to_bytes(3, "little") + b"\0" + command)

    def _received(self) -> Iterator[tuple[bytes, int, int] | None]:
        """Yield the events in packets. A buffer is never modified after it has been yielded."""
        data = b""
        while True:
            at, end = 0, len(data)
            while end - at > 4:
                size = _PACKET(data, at)[0] & _WHOLE_PACKET
                begin = at + 4
                if end - begin < size:
                    break
                at = begin + size
                if size and data[begin] == _OK:
                    yield data, begin + 1, at
                elif self._event(data, begin, at) is None:
                    return
            data = data[at:]
            if len(data) > _CHUNK_BYTES:
                event, data = self._large(data)
                if event is None:
                    return
                yield event
                continue
            chunk = self._chunk()
            if chunk is None:
                yield None
            else:
                data += chunk

    def _large(self, data: bytes) -> tuple[tuple[bytes, int, int] | None, bytes]:
        """Read the rest of an event that is larger than a chunk. Return the event and the bytes after it."""
        parts, more = [], True
        while more:
            while len(data) < 4:
                data += self._next()
            size = int.from_bytes(data[:3], "little")
            pieces, have = [data[4:]], len(data) - 4
            while have < size:
                piece = self._next()
                pieces.append(piece)
                have += len(piece)
            data = b"".join(pieces)
            parts.append(data[:size])
            data = data[size:]
            more = size == _WHOLE_PACKET
        joined = b"".join(parts)
        return self._event(joined, 0, len(joined)), data

    def _event(self, data: bytes, start: int, end: int) -> tuple[bytes, int, int] | None:
        """Return the event in a packet; ``None`` at the end of the stream."""
        status = data[start] if end > start else _ERROR
        if status == _OK:
            return data, start + 1, end
        if status == _EOF and end - start < 9:
            return None
        if status == _ERROR and end - start > 3:
            number = int.from_bytes(data[start + 1 : start + 3], "little")
            text = data[start + 3 : end].decode("utf-8", "replace")
            raise LogServerError(f"the server ended the log stream with error {number}: {text.lstrip('#')[5:]}", number)
        raise MalformedLogError(f"the server sent a packet of the unknown kind {status}")

    def _next(self) -> bytes:
        """Return the next chunk of an incomplete event."""
        while True:
            found = self._chunk()
            if found is not None:
                return found

    def _chunk(self) -> bytes | None:
        """Return received bytes; ``None`` if no bytes arrived in time.

        Raises:
            LogError: The connection is lost.
        """
        silent_s = 3 * self.request.heartbeat_s + 10
        self._socket.settimeout(silent_s if self.idle_s is None else self.idle_s)
        try:
            found: bytes = self._socket.recv(_CHUNK_BYTES)
        except TimeoutError:
            if self.idle_s is not None:
                return None
            raise self._lost(f"no data was received for {silent_s:.0f} s") from None
        except OSError as error:
            raise self._lost(str(error)) from None
        if not found:
            raise self._lost("the server closed the connection")
        return found

    def _lost(self, why: str) -> LogError:
        error = LogError(f"the replication connection to the server was lost: {why}")
        error.retryable = True
        return error
