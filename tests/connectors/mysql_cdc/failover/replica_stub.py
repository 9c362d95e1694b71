"""A server whose log files contain the transactions that a test names."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from attrs import define, field

from seatunnel_core.connectors.mysql_cdc.failover import logged_transactions
from seatunnel_core.connectors.mysql_cdc.failover.candidate import Candidate
from seatunnel_core.connectors.mysql_cdc.failover.continuation import Continuation
from seatunnel_core.connectors.mysql_cdc.progress import Progress
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
    """Log files, each with its transactions: ``"a:5"`` of MySQL, ``"0-1-5"`` of MariaDB, ``""`` without a GTID.

    A file with the only entry ``"tags"`` begins with GTIDs that have tags.
    """

    files: Mapping[str, Sequence[str]]
    before: str = ""
    """Transactions before the first file. MariaDB needs some."""

    end: LogPosition = field(default=LogPosition("bin.000001", 4), init=False)
    """End of the log, once it is served."""

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
            if transactions == ["tags"]:
                log.event(_PREVIOUS, bytes(7) + b"\1")
            else:
                _begin_file(log, base, is_maria=is_maria)
            for each in transactions if transactions != ["tags"] else ():
                positions[each] = LogPosition(file, log.offset)
                event = _gtid_event(log, each)
                if (gtid := logged_gtid(event)) is not None:
                    base = base.plus(gtid)
                log.query("BEGIN")
                log.xid()
            self.end = positions["end"] = LogPosition(file, log.offset)
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


def replica(
    files: Sequence[str],
    end: LogPosition | None = None,
    *,
    replicates: Sequence[str] | None = None,
    settings: Mapping[str, str] | None = None,
    filtered: str = "",
    **variables: Any,
) -> AnsweringServer:
    """Return the server.

    Args:
        files: Names of its log files.
        end: End of its log.
        replicates: Values of the filters if it is a replica of MySQL.
        settings: Its settings for GTIDs of MariaDB.
        filtered: Filter of a replica of MariaDB.
        variables: Its global variables.
    """
    answers: dict[str, Sequence[Sequence[Any]]] = {"SHOW BINARY LOGS": [(file, 1_000) for file in files]}
    answers |= {f"SELECT @@global.{name}": [(value,)] for name, value in variables.items()}
    if end is not None:
        answers["SHOW MASTER STATUS"] = [(end.file, end.offset, "", "")]
    status: Sequence[Sequence[Any]] = [] if replicates is None else [(*range(12), *replicates, 0)]
    answers |= {"SHOW SLAVE STATUS": status, "SHOW ALL SLAVES STATUS": status}
    shown = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('"
    answers[f"{shown}replicate"] = [("replicate_do_db", filtered)]
    answers[f"{shown}gtid_strict_mode"] = [*(settings or {}).items()]
    return AnsweringServer(answers)


FREE = ("", "", "", "", "", "")
"""Values of the filters of a replica without filters."""


def mysql(logs: Logs, executed: str, purged: str = "", *, read: str = "", replicates: Any = None) -> Continuation:
    """Return the continuation of a job that has read transactions at a server of MySQL."""
    variables: dict[str, Any] = {"gtid_executed": executed, "gtid_purged": purged}
    return at(replica([*logs.files], logs.end, replicates=replicates, **variables), MYSQL, "there", read)


def maria(
    logs: Logs,
    executed: str,
    *,
    read: str = "",
    strict: str = "ON",
    replicated: str = "",
    galera: str = "OFF",
    filtered: str = "",
) -> Continuation:
    """Return the continuation of a job that has read transactions at a server of MariaDB."""
    variables: dict[str, Any] = {"gtid_binlog_pos": executed, "gtid_slave_pos": replicated}
    settings = {"gtid_strict_mode": strict, "wsrep_on": galera}
    server = replica([*logs.files], logs.end, settings=settings, filtered=filtered, **variables)
    return at(server, MARIA, "1", read)


def at(server: AnsweringServer, state: ServerState, former: str, read: str) -> Continuation:
    progress = Progress(server=former, log=LogPosition("log.000009", 700), gtids=read)
    return Continuation(Candidate(server, state, former), progress)


def numbers(*every: int) -> list[str]:
    return [f"a:{each}" for each in every]


def of_a(*every: int) -> str:
    return str(GtidSet.of({(A, ""): [(each, each) for each in every]})) if every else ""
