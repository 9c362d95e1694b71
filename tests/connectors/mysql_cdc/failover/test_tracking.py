"""Transactions before the position of a job: determined once after the copy, and added by each range."""

import json
from typing import Any
from uuid import UUID

import pytest
from attrs import evolve

from seatunnel_core.connector_api.errors import SourceChangedError, SourceError
from seatunnel_core.connectors.change_data.chunks import ChunkStart
from seatunnel_core.connectors.mysql_cdc.failover import logged_transactions
from seatunnel_core.connectors.mysql_cdc.failover.continuation import require_same_log
from seatunnel_core.connectors.mysql_cdc.failover.logged_transactions import transactions_before
from seatunnel_core.connectors.mysql_cdc.failover.tracking import Tracking
from seatunnel_core.connectors.mysql_cdc.planning import Planned
from seatunnel_core.connectors.mysql_cdc.progress import Progress
from seatunnel_core.connectors.mysql_cdc.server import ServerReplacedError, ServerState
from seatunnel_core.connectors.mysql_log import event_types as et
from seatunnel_core.connectors.mysql_log.captured_tables import CapturedTables
from seatunnel_core.connectors.mysql_log.errors import LogError
from seatunnel_core.connectors.mysql_log.gtid import transactions_of
from seatunnel_core.connectors.mysql_log.log_decoder import LogDecoder
from seatunnel_core.connectors.mysql_log.logged_gtids import LoggedGtids, LoggedTransaction
from seatunnel_core.connectors.mysql_log.position import LogPosition
from tests.connectors.mysql_cdc.failover.replica_stub import MARIA, MYSQL, A, Logs, Stream, numbers, of_a, replica
from tests.connectors.mysql_cdc.server_stub import AnsweringServer
from tests.connectors.mysql_log.encoder import LogWriter

TIME = (1_700_000_000_123_456).to_bytes(7, "little")
REPLICATED = (1_700_000_009_000_000 | 1 << 55).to_bytes(7, "little") + TIME
"""Commit times in an event of MySQL 8.0, on the original server and on a replica."""

FILE, NEXT = "bin.000001", "bin.000002"


def busy(files: Any, executed: str, purged: str = "") -> AnsweringServer:
    """A server whose log has grown since the position that a test looks for."""
    found = replica([*files], gtid_executed=executed, gtid_binlog_pos=executed, gtid_owned="", gtid_purged=purged)
    object.__setattr__(found, "position", lambda state: LogPosition(NEXT, 1 << 40))
    return found


def transactions(server: AnsweringServer, state: ServerState, end: LogPosition) -> str:
    found = transactions_before(server, state, end)
    assert found is not None
    return str(found.transactions)


def test_the_file_is_read_up_to_the_position(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = Logs({FILE: numbers(3, 4, 5), NEXT: numbers(6, 8, 7)}, before=f"{A}:1-2")
    begins, server = logs.begins(monkeypatch), busy(logs.files, of_a(*range(1, 9)))
    expected = {"a:3": f"{A}:1-2", "a:5": f"{A}:1-4", "a:6": f"{A}:1-5", "a:8": f"{A}:1-6", "a:7": f"{A}:1-6:8"}
    assert {each: transactions(server, MYSQL, begins[each]) for each in expected} == expected
    assert transactions(server, MYSQL, LogPosition(NEXT, 4)) == f"{A}:1-5"
    assert transactions_before(server, MYSQL, LogPosition(NEXT, 1 << 30)) is None, "the server sends less"


def test_what_a_server_contained_before_its_log_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was created from a copy: its executed transactions were set (``gtid_purged``), and never logged."""
    logs = Logs({FILE: numbers(3, 4)})
    begins = logs.begins(monkeypatch)
    server = busy(logs.files, of_a(*range(1, 5)), of_a(1, 2))
    assert transactions(server, MYSQL, begins["a:4"]) == f"{A}:1-3"
    asked = server.asked  # type: ignore[attr-defined]
    assert "gtid_purged" in asked[-1], "more may be removed while the log is read"


def test_mariadb_has_the_last_transaction_of_each_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = Logs({FILE: ["0-1-4", "1-1-2", "0-2-5"], NEXT: ["0-2-6"]}, before="0-1-3,1-1-1")
    begins, server = logs.begins(monkeypatch), busy(logs.files, "0-2-6,1-1-2")
    expected = {"0-1-4": "0-1-3,1-1-1", "0-2-5": "0-1-4,1-1-2", "0-2-6": "0-2-5,1-1-2"}
    assert {each: transactions(server, MARIA, begins[each]) for each in expected} == expected


def test_transactions_without_gtids_make_the_set_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = Logs({FILE: [*numbers(1), "", *numbers(2)]})
    begins = logs.begins(monkeypatch)
    assert transactions_before(busy(logs.files, of_a(1, 2)), MYSQL, begins["a:2"]) is None


def test_a_log_that_ends_at_the_position_is_not_read() -> None:
    """The statements of a poll without changes; reading a file would take a while."""
    end = LogPosition(FILE, 900)
    server = replica([], gtid_executed=of_a(1, 2), gtid_owned="")
    object.__setattr__(server, "position", lambda state: end)
    assert transactions(server, MYSQL, end) == f"{A}:1-2"
    server = replica([], gtid_executed=of_a(1, 2), gtid_owned=f"{A}:3#7", gtid_purged="")
    object.__setattr__(server, "position", lambda state: end)
    with pytest.raises(SourceError, match="the log of the server cannot be read"):
        transactions_before(server, MYSQL, end)  # a transaction is being committed, so the log would be read


def test_an_error_does_not_end_jobs_that_stay_at_their_server(monkeypatch: pytest.MonkeyPatch) -> None:
    errors: list[Exception] = [LogError("damaged"), LogError("lost"), ServerReplacedError("moved")]
    errors[1].retryable = True  # type: ignore[attr-defined]

    def log_stream(server: Any, start: Any) -> Any:
        raise errors.pop(0)

    monkeypatch.setattr(logged_transactions, "log_stream", log_stream)
    server = busy([FILE], of_a(1))
    assert transactions_before(server, MYSQL, LogPosition(FILE, 300)) is None
    for error in (SourceError, ServerReplacedError):
        with pytest.raises(error):
            transactions_before(server, MYSQL, LogPosition(FILE, 300))


@pytest.mark.parametrize(
    "more",
    [
        {"gtids": f"{A}:1"},
        {"start": ChunkStart(table=1)},
        {"reading": LogPosition(FILE, 300)},
        {"reading": LogPosition(FILE, 900)},
    ],
)
@pytest.mark.parametrize("state", [MYSQL, MARIA])
def test_nothing_is_queried_while_tables_or_ranges_are_read(more: dict[str, Any], state: Any) -> None:
    server, progress = replica([]), Progress(server="here", log=LogPosition(FILE, 300))
    kept = Tracking().tracked(server, state, evolve(progress, **more))
    assert kept == evolve(progress, **more)
    assert server.asked == []  # type: ignore[attr-defined]


def test_unknown_transactions_are_not_determined_at_each_poll() -> None:
    server, progress, tracking = replica([]), Progress(server="here", log=LogPosition(FILE, 300)), Tracking()
    assert tracking.tracked(server, MYSQL, progress) == progress, "each statement is denied"
    asked = len(server.asked)  # type: ignore[attr-defined]
    assert asked > 0
    assert tracking.tracked(server, MYSQL, progress) == progress
    assert len(server.asked) == asked  # type: ignore[attr-defined]


def test_a_report_without_gtids_makes_them_unknown() -> None:
    start, end = LogPosition(FILE, 300), LogPosition(FILE, 900)
    progress = Progress(server="here", log=start, gtids=f"{A}:1", last=f"{A}:1/7/250/0", reading=end)
    fact = {"read": f"{FILE}:900", "stopped": "", "prepared": [], "ended": False}
    read = progress.with_fact(fact)
    assert (read.gtids, read.last) == (None, "")
    assert "gtids" not in read.cursor()


def test_a_server_that_was_restored_from_a_backup_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the same identity. It may lack transactions, or have others at the position of the job."""
    logs = Logs({FILE: numbers(1, 2, 3, 4)})
    begins, server = logs.begins(monkeypatch), busy(logs.files, of_a(1, 2, 3, 4))
    progress = Progress(server="here", log=begins["a:4"], gtids=of_a(1, 2, 3))
    require_same_log(server, MYSQL, progress)
    require_same_log(server, evolve(MYSQL, settings={"gtid_mode": "OFF"}), evolve(progress, gtids=of_a(9)))
    require_same_log(server, MYSQL, evolve(progress, gtids=None))
    for read, difference in (((1, 2, 3, 9), f"lacks the transactions {A}:9"), ((1, 2), f"{A}:3 are different"),
                             ((1, 2, 3, 4), f"{A}:4 are different")):  # fmt: skip
        with pytest.raises(SourceChangedError, match=f"is not the one from which .* bin.000001:.*{difference}"):
            require_same_log(server, MYSQL, evolve(progress, gtids=of_a(*read)))


def test_a_log_that_ends_before_the_position_of_the_job_is_refused() -> None:
    server = replica([FILE], LogPosition(FILE, 299), gtid_executed=of_a(1))
    progress = Progress(server="here", log=LogPosition(FILE, 300), gtids=of_a(1))
    with pytest.raises(SourceChangedError, match=f"is not the one from which .* it ends at {FILE}:299. The server was"):
        require_same_log(server, MYSQL, progress)


def test_a_transaction_that_got_the_gtid_of_another_one_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the restore from a backup, the server assigns the same GTIDs again, and the log may even be as long."""
    logs = Logs({FILE: numbers(1, 2, 3, 4)})
    begins, server = logs.begins(monkeypatch), busy(logs.files, of_a(1, 2, 3, 4))
    before = transactions_before(server, MYSQL, begins["a:4"])
    assert before is not None
    gtid, time_s, rest = before.last.split("/", 2)
    assert gtid == f"{A}:3"
    progress = Progress(server="here", log=begins["a:4"], gtids=of_a(1, 2, 3), last=before.last)
    require_same_log(server, MYSQL, progress)
    assert Progress.of(json.loads(json.dumps(progress.cursor()))) == progress
    with pytest.raises(SourceChangedError, match=f"the transactions {A}:3 are different"):
        require_same_log(server, MYSQL, evolve(progress, last=f"{gtid}/{int(time_s) + 1}/{rest}"))


@pytest.mark.parametrize("checksums", [True, False])
@pytest.mark.parametrize("more", [b"", TIME, REPLICATED], ids=["5.7", "8.0", "replica"])
@pytest.mark.parametrize("maria", [False, True])
def test_readers_and_checks_see_the_same_transaction(
    maria: bool, more: bytes, checksums: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one decodes the log, and the other only looks for GTIDs. A difference would stop each job that is resumed."""
    log = LogWriter(checksums=checksums)
    log.format()
    if maria:
        log.event(et.MARIA_GTID_LIST, bytes(4))
    else:
        log.event(et.PREVIOUS_GTIDS, bytes(8))
    for number in (1, 2):
        log.timestamp += 60
        if maria:
            log.event(et.MARIA_GTID, number.to_bytes(8, "little") + bytes(11))
        else:
            log.event(et.GTID, b"\0" + UUID(A).bytes + number.to_bytes(8, "little") + b"\2" + bytes(16) + more)
        log.query("BEGIN")
        log.xid()
    end = LogPosition(FILE, log.offset)
    monkeypatch.setattr(logged_transactions, "log_stream", lambda server, start: Stream(log.written))
    state = MARIA if maria else MYSQL
    before = transactions_before(busy([FILE], ""), state, end, reads_log=True)
    gtids = LoggedGtids()
    for batch in LogDecoder(CapturedTables({}), LogPosition(FILE, 4)).batches(log.events()):
        gtids.add(batch.transactions)
    assert before is not None
    assert before.last == str(LoggedTransaction.of(gtids.last_event))
    assert before.last.split("/")[3] == ("1700000000123456" if more and not maria else "0")
    assert str(before.transactions) == str(gtids.after(transactions_of("", is_maria=maria)))
    assert str(before.transactions) == ("0-7-2" if maria else f"{A}:1-2")


def test_another_server_of_mariadb_has_logged_the_last_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = Logs({FILE: ["0-1-4", "0-2-5", "0-2-6"]}, before="0-1-3")
    begins, server = logs.begins(monkeypatch), busy(logs.files, "0-2-6")
    progress = Progress(server="2", log=begins["0-2-6"], gtids="0-2-5")
    require_same_log(server, MARIA, progress)
    with pytest.raises(SourceChangedError, match="0-2-5 are different"):
        require_same_log(server, MARIA, evolve(progress, gtids="0-1-5"))


def test_the_log_is_verified_once(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = Logs({FILE: numbers(1, 2)})
    begins = logs.begins(monkeypatch)
    server, tracking = busy(logs.files, of_a(1, 2)), Tracking()
    progress = Progress(server="here", log=begins["a:2"], gtids=of_a(1))
    for _ in range(2):
        tracking.verify(server, MYSQL, progress)
        asked = len(server.asked)  # type: ignore[attr-defined]
    assert len(server.asked) == asked > 0  # type: ignore[attr-defined]
    tracking.follow()
    assert not tracking.is_verified


def test_transactions_that_a_sink_may_write_are_recorded() -> None:
    """Before a range is read: also those that are logged but not executed yet."""
    owned = f"{A}:8#17:9#18#19"
    server, tracking = replica([], gtid_executed=of_a(1, 2), gtid_owned=owned, gtid_binlog_pos="0-1-5"), Tracking()
    progress = Progress(server="here", log=LogPosition(FILE, 300), gtids=of_a(1))
    tracking.record_written(server, MYSQL, Planned(progress=evolve(progress, gtids=None), bodies=({},)))
    assert tracking.written is None
    tracking.record_written(server, MYSQL, Planned(progress=progress))
    assert tracking.written == f"{A}:1-2:8-9"
    tracking.record_written(server, MARIA, Planned(progress=progress))
    assert tracking.written == f"{A}:1-2:8-9", "nothing was planned"
    tracking.record_written(server, MARIA, Planned(progress=progress, bodies=({},)))
    assert tracking.written == "0-1-5"
