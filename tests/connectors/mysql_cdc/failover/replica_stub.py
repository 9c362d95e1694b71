"""A server whose log files contain the transactions that a test names."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from attrs import define

from seatunnel_core.connectors.mysql_cdc.failover import logged_transactions
from seatunnel_core.connectors.mysql_cdc.failover.continuation import Continuation
from seatunnel_core.connectors.mysql_cdc.server import ServerState
from seatunnel_core.connectors.mysql_log.gtid import GtidSet, gtid_set_of, logged_gtid, maria_position_of
from seatunnel_core.connectors.mysql_log.position import LogPosition
from tests.connectors.mysql_cdc.server_stub import AnsweringServer
from tests.connectors.mysql_log.encoder import SOURCE, LogWriter

A = str(SOURCE)
MYSQL = ServerState(version="8.0.15", settings={"server_uuid": "here", "gtid_mode": "ON"})
MARIA = ServerState(version="10.11.6-MariaDB", settings={"server_id": "2"})

_ROTATE, _GTID, _ANONYMOUS, _PREVIOUS, _MARIA_GTID, _MARIA_LIST = 4, 33, 34, 35, 162, 163


@define
class Stream:
    """A stream of events as a server sends them."""

    written: list[bytes]

    def events(self) -> Iterator[tuple[bytes, int, int] | None]:
        yield from ((each, 0, len(each)) for each in self.written)

    def close(self) -> None:
        """Do nothing."""


@define
class Logs:
    """Log files, each with its transactions: ``"a:5"`` of MySQL, ``"0-1-5"`` of MariaDB, ``""`` without a GTID."""

    files: Mapping[str, Sequence[str]]
    before: str = ""
    """Transactions before the first file. MariaDB needs some."""

    def begins(self, monkeypatch: pytest.MonkeyPatch) -> dict[str, LogPosition]:
        """Serve the files, and return the position of each transaction and of the end."""
        made, positions = {}, {}
        is_maria = bool(self.before) and ":" not in self.before
        base: Any = maria_position_of(self.before) if is_maria else gtid_set_of(self.before)
        for file, transactions in self.files.items():
            log = LogWriter()
            log.event(_ROTATE, (4).to_bytes(8, "little") + file.encode(), log_pos=0)
            log.offset = 4
            log.format()
            _begin_file(log, base, is_maria=is_maria)
            for each in transactions:
                positions[each] = LogPosition(file, log.offset)
                event = _gtid_event(log, each)
                if (gtid := logged_gtid(event)) is not None:
                    base = base.plus(gtid)
                log.query("BEGIN")
                log.xid()
            positions["end"] = LogPosition(file, log.offset)
            log.event(27, file.encode())  # a heartbeat is not in the file
            made[file] = log.written
        names = [*made]

        def log_stream(server: Any, start: LogPosition) -> Stream:
            assert start.offset == 4
            return Stream([event for file in names[names.index(start.file) :] for event in made[file]])

        monkeypatch.setattr(logged_transactions, "log_stream", log_stream)
        return positions


def _begin_file(log: LogWriter, base: Any, *, is_maria: bool) -> None:
    if is_maria:
        listed = base.last.values()
        parts = [each.domain.to_bytes(4, "little") + each.server.to_bytes(4, "little") +
                 each.sequence.to_bytes(8, "little") for each in listed]  # fmt: skip
        log.event(_MARIA_LIST, len(parts).to_bytes(4, "little") + b"".join(parts))
    else:
        log.event(_PREVIOUS, base.encoded())


def _gtid_event(log: LogWriter, gtid: str) -> bytes:
    if not gtid:
        return log.event(_ANONYMOUS, bytes(42))
    if gtid.startswith("a:"):
        return log.gtid(int(gtid[2:]))
    domain, server, sequence = map(int, gtid.split("-"))
    event = log.event(_MARIA_GTID, sequence.to_bytes(8, "little") + domain.to_bytes(4, "little") + bytes(7))
    found = event[:5] + server.to_bytes(4, "little") + event[9:]
    log.written[-1] = found
    return found


def replica(files: Sequence[str], **variables: str) -> AnsweringServer:
    """Return the server with its files and its global variables."""
    answers: dict[str, Sequence[Sequence[Any]]] = {"SHOW BINARY LOGS": [(file, 1_000) for file in files]}
    answers |= {f"SELECT @@global.{name}": [(value,)] for name, value in variables.items()}
    return AnsweringServer(answers)


def mysql(logs: Logs, executed: str, purged: str = "") -> Continuation:
    server = replica([*logs.files], gtid_executed=executed, gtid_purged=purged)
    return Continuation(server, MYSQL, "there")


def maria(logs: Logs, executed: str, strict: str = "1") -> Continuation:
    server = replica([*logs.files], gtid_binlog_pos=executed, gtid_strict_mode=strict)
    return Continuation(server, MARIA, "1")


def numbers(*every: int) -> list[str]:
    return [f"a:{each}" for each in every]


def of_a(*every: int) -> str:
    return str(GtidSet.of({(A, ""): [(each, each) for each in every]}))
