"""Packets of a server, in pieces of any size, become events; files do, too."""

import io
from typing import Any

import hypothesis.strategies as st
import pytest
from attrs import define, field
from hypothesis import given

from seatunnel_core.connectors.mysql_log.errors import LogError, LogServerError, MalformedLogError
from seatunnel_core.connectors.mysql_log.gtid import gtid_set_of, maria_position_of
from seatunnel_core.connectors.mysql_log.log_file import file_events
from seatunnel_core.connectors.mysql_log.position import LogPosition
from seatunnel_core.connectors.mysql_log.server_stream import DumpRequest, ServerStream
from tests.connectors.mysql_log.encoder import SOURCE

START = LogPosition("bin.000001", 4)
END = b"\5\0\0\0\xfe\0\0\2\0"
MOST = 0xFFFFFF


def packets(data: bytes) -> bytes:
    """Divide an event as a server does."""
    data = b"\0" + data
    parts = [data[at : at + MOST] for at in range(0, len(data) + 1, MOST)]
    return b"".join(len(part).to_bytes(3, "little") + bytes([number]) + part for number, part in enumerate(parts))


@define
class Socket:
    """Gives bytes in pieces; ``None`` is a time without any, and an error is raised."""

    pieces: list[Any]
    at: int = 0
    sent: bytes = b""
    timeouts: set[float] = field(factory=set)

    def settimeout(self, seconds: float) -> None:
        self.timeouts.add(seconds)

    def sendall(self, data: bytes) -> None:
        self.sent += data

    def recv(self, count: int) -> bytes:
        if not self.pieces:
            return b""
        piece = self.pieces[0]
        if piece is None:
            self.pieces.pop(0)
            raise TimeoutError
        if isinstance(piece, Exception):
            raise piece
        found = piece[self.at : self.at + count]
        self.at += count
        if self.at >= len(piece):
            self.at = 0
            self.pieces.pop(0)
        return found


@define
class Connection:
    """A connection of PyMySQL."""

    _sock: Any
    version: str = "8.0.15"
    executed: list[str] = field(factory=list)
    closed: bool = False

    def get_server_info(self) -> str:
        return self.version

    def cursor(self) -> "Connection":
        return self

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None: ...

    def execute(self, statement: str) -> None:
        self.executed.append(statement)

    def _force_close(self) -> None:
        self.closed = True


def stream(pieces: list[Any], start: Any = START, version: str = "8.0.15", **options: Any) -> ServerStream:
    idle_s = options.pop("idle_s", None)
    request = DumpRequest(start=start, server_id=99, **options)
    return ServerStream(Connection(Socket(pieces), version), request, idle_s=idle_s)


def bodies(found: ServerStream) -> list[bytes | None]:
    return [None if each is None else each[0][each[1] : each[2]] for each in found.events()]


@pytest.mark.fuzz
@given(st.lists(st.binary(min_size=1, max_size=50), max_size=10), st.data())
def test_events_are_independent_of_pieces(events: list[bytes], data: st.DataObject) -> None:
    joined = b"".join(map(packets, events)) + END
    cuts = sorted(data.draw(st.sets(st.integers(1, len(joined) - 1), max_size=12)))
    pieces = [joined[low:high] for low, high in zip([0, *cuts], [*cuts, len(joined)], strict=True)]
    assert bodies(stream(pieces)) == events


@pytest.mark.parametrize("size", [MOST - 2, MOST - 1, MOST, MOST + 5, 2 * MOST - 1, 300_000])
def test_large_events_are_joined(size: int) -> None:
    events = [b"a", b"x" * size, b"b", b"y" * 300_000, b"c"]
    assert bodies(stream([b"".join(map(packets, events)) + END])) == events


def test_a_time_without_events_is_told() -> None:
    found = stream([packets(b"a")[:3], None, packets(b"a")[3:], None, END], idle_s=0.5)
    assert bodies(found) == [None, b"a", None]
    assert found.connection._sock.timeouts == {0.5}


def test_a_silent_or_closed_connection_is_a_retryable_error() -> None:
    for piece, said in (
        (None, "no data was received for 40 s"),
        (b"\5\0", "the server closed the connection"),
        (ConnectionResetError("reset by peer"), "reset by peer"),
    ):
        with pytest.raises(LogError, match=said) as found:
            bodies(stream([piece]))
        assert found.value.retryable


def test_errors_of_the_server() -> None:
    text = b"\xff\xd4\x04#HY000Could not find first log file name"
    with pytest.raises(LogServerError, match="error 1236: Could not find first log") as found:
        bodies(stream([len(text).to_bytes(3, "little") + b"\1" + text]))
    assert found.value.number == 1236
    assert not found.value.retryable
    for packet in (b"\1\0\0\0\x07", b"\0\0\0\0", b"\2\0\0\0\xffa"):
        with pytest.raises(MalformedLogError, match="unknown kind"):
            bodies(stream([packet + bytes(10)]))


def test_the_request_of_a_position() -> None:
    found = stream([END], until_now=True)
    assert bodies(found) == []
    assert found.connection._sock.sent == (b"\x15\0\0\0\x12\4\0\0\0\1\0" + (99).to_bytes(4, "little") + b"bin.000001")
    (settings,) = found.connection.executed
    assert "@source_binlog_checksum = @@global.binlog_checksum" in settings
    assert "@master_heartbeat_period = 10000000000" in settings
    assert "net_write_timeout = 3600" in settings
    found.close()
    assert found.connection.closed


def test_the_request_behind_gtids() -> None:
    found = stream([END], gtid_set_of(f"{SOURCE}:1-5"))
    bodies(found)
    sent = found.connection._sock.sent
    assert sent[4:7] == b"\x1e\4\0"
    assert [int.from_bytes(sent[at:][:8], "little") for at in (-48, -24, -16, -8)] == [1, 1, 1, 6]
    assert sent[-40:-24] == SOURCE.bytes
    maria = stream([END], maria_position_of("0-1-5"), "10.11.6-MariaDB")
    bodies(maria)
    assert "@slave_connect_state = '0-1-5', @slave_gtid_strict_mode = 1" in maria.connection.executed[0]
    assert "@mariadb_slave_capability = 4" in maria.connection.executed[0]
    assert maria.connection._sock.sent[5:9] == (4).to_bytes(4, "little")
    for start, version in ((gtid_set_of(f"{SOURCE}:1"), "10.11.6-MariaDB"), (maria_position_of("0-1-5"), "8.0.15")):
        with pytest.raises(LogError, match=r"does not consist of M.* GTIDs"):
            bodies(stream([END], start, version))


def test_an_offset_that_the_command_cannot_have_is_refused() -> None:
    with pytest.raises(LogError, match="offsets must be below 4 GiB"):
        bodies(stream([END], LogPosition("bin.000001", 1 << 32)))


# -- files --------------------------------------------------------------------------------------------------------


def event(size: int) -> bytes:
    return bytes(9) + (19 + size).to_bytes(4, "little") + bytes(6) + b"x" * size


@pytest.mark.fuzz
@given(st.lists(st.integers(0, 50), max_size=8))
def test_events_of_a_file(sizes: list[int]) -> None:
    events = [event(size) for size in sizes]
    file = io.BytesIO(b"\xfebin" + b"".join(events))
    assert [data[start:end] for data, start, end in file_events(file)] == events


def test_large_events_of_a_file() -> None:
    events = [event(5), event(3 << 20), event(1), event((1 << 20) - 19)]
    file = io.BytesIO(b"\xfebin" + b"".join(events))
    assert [data[start:end] for data, start, end in file_events(file)] == events


def test_files_that_are_no_log_or_end_early() -> None:
    for data, said in (
        (b"text", "the file is not a binary log"),
        (b"\xfebin" + event(30)[:25], "ends inside an event: 24 bytes are missing"),
        (b"\xfebin" + event(3)[:10], "10 bytes of an incomplete event"),
        (b"\xfebin" + bytes(30), "the invalid size of 0 bytes"),
    ):
        with pytest.raises(MalformedLogError, match=said):
            list(file_events(io.BytesIO(data)))
