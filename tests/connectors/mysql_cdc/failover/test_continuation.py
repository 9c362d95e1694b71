"""Where the log of another server continues after the transactions that a job has read."""

import contextlib
import json
from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.capture_errors import LogRemovedError
from seatunnel_core.connector_api.errors import SourceChangedError, SourceError
from seatunnel_core.connectors.change_data.chunks import ChunkStart
from seatunnel_core.connectors.change_data.rereading import Reread
from seatunnel_core.connectors.mysql_cdc.failover.candidate import LaggingReplicaError
from seatunnel_core.connectors.mysql_cdc.failover.continuation import Continuation, continuation_of
from seatunnel_core.connectors.mysql_cdc.failover.former_splits import is_skipped
from seatunnel_core.connectors.mysql_cdc.failover.readiness import failover_note
from seatunnel_core.connectors.mysql_cdc.progress import Progress
from seatunnel_core.connectors.mysql_cdc.server import ServerState
from seatunnel_core.connectors.mysql_log.position import LogPosition
from tests.connectors.mysql_cdc.driven import Reports
from tests.connectors.mysql_cdc.failover.replica_stub import FREE, A, Logs, maria, mysql, numbers, of_a, replica

FILE, NEXT, LAST = "bin.000001", "bin.000002", "bin.000003"
STATE = ServerState(version="8.0.15", settings={"server_uuid": "here", "gtid_mode": "ON"})
READ = Progress(server="there", log=LogPosition("log.000009", 700), gtids=of_a(*range(1, 6)))


def located(found: Continuation) -> LogPosition:
    return found.continued().log


def test_reading_continues_at_the_first_transaction_that_was_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = Logs({FILE: numbers(*range(1, 4)), NEXT: numbers(*range(4, 9))})
    begins = logs.begins(monkeypatch)
    for last in range(1, 8):
        read = of_a(*range(1, last + 1))
        assert located(mysql(logs, of_a(*range(1, 9)), read=read)) == begins[f"a:{last + 1}"], last
    assert located(mysql(logs, of_a(*range(1, 9)), read=of_a(*range(1, 9)))) == begins["end"]


@pytest.mark.parametrize("purged", [f"{A}:1-3", f"{A}:1-4"])
def test_transactions_before_the_log_count_as_read(purged: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second server was created from a copy: the first file of its log does not list what the copy contained."""
    logs = Logs({FILE: numbers(4, 5, 6)} if purged.endswith("3") else {FILE: numbers(5, 6)}, before=f"{A}:1-3")
    begins = logs.begins(monkeypatch)
    assert located(mysql(logs, of_a(*range(1, 7)), purged, read=of_a(*range(1, 6)))) == begins["a:6"]


def test_a_transaction_that_was_not_read_before_others_that_were_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """An errant transaction of the replica; it would be emitted after later changes of the same rows, or never."""
    logs = Logs({FILE: [*numbers(1, 2), "a:90", *numbers(3, 4, 5, 6)]})
    begins = logs.begins(monkeypatch)
    found = mysql(logs, of_a(*range(1, 7), 90), read=of_a(*range(1, 6)))
    with pytest.raises(SourceChangedError, match=f"{A}:3, .* after an unread transaction at {begins['a:90']}"):
        located(found)


def test_an_unread_transaction_in_an_earlier_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = Logs({FILE: [*numbers(1, 2), "a:90"], NEXT: numbers(3, 4), LAST: numbers(5, 6)})
    logs.begins(monkeypatch)
    with pytest.raises(SourceChangedError, match=f"precede transactions already read: {A}:90"):
        located(mysql(logs, of_a(*range(1, 7), 90), read=of_a(*range(1, 6))))


@pytest.mark.parametrize("transactions", [[*numbers(1, 2), "", *numbers(3, 4)], [*numbers(1, 2, 3), "", *numbers(4)],
                                          [*numbers(1, 2, 3, 4), ""]])  # fmt: skip
def test_a_transaction_without_a_gtid_is_refused(transactions: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Replicas may log it before or after others, so it is unknown whether the job has read it."""
    logs = Logs({FILE: transactions})
    begins = logs.begins(monkeypatch)
    with pytest.raises(SourceChangedError, match=f"at {begins['']} in this server's log has no GTID"):
        located(mysql(logs, of_a(1, 2, 3, 4), read=of_a(1, 2, 3)))


def test_a_file_without_gtids_is_not_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """gtid_mode was OFF_PERMISSIVE while the second file was written, so the third one begins with the same set."""
    logs = Logs({FILE: numbers(1, 2, 3), NEXT: ["", ""], LAST: numbers(4)})
    logs.begins(monkeypatch)
    with pytest.raises(SourceChangedError, match=f"at {NEXT}:.* in this server's log has no GTID"):
        located(mysql(logs, of_a(1, 2, 3, 4), read=of_a(1, 2, 3)))


@pytest.mark.parametrize(
    ("replicates", "error", "match"),
    [
        (FREE, LaggingReplicaError, "server_uuid = here\\) still lacks .* server there: "),
        (None, SourceChangedError, "server_uuid = here.* this server does not contain .* server there: "),
    ],
)
def test_a_server_that_lacks_transactions(
    replicates: Any, error: type[SourceError], match: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = Logs({FILE: numbers(1, 2, 3)})
    logs.begins(monkeypatch)
    found = mysql(logs, of_a(1, 2, 3), read=of_a(*range(1, 6)), replicates=replicates)
    with pytest.raises(error, match=f"{match}{A}:4-5") as raised:
        located(found)
    assert raised.value.retryable == (replicates is not None)


def test_a_replica_with_filters_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = Logs({FILE: numbers(1, 2, 3)})
    logs.begins(monkeypatch)
    found = mysql(logs, of_a(1, 2, 3), read=of_a(1, 2), replicates=("", "logs", "", "", "", ""))
    with pytest.raises(SourceChangedError, match=r"filters \(replicate_ignore_db\), so its log may lack changes"):
        located(found)


def test_a_purged_log_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = Logs({FILE: numbers(7, 8)}, before=f"{A}:1-6")
    logs.begins(monkeypatch)
    with pytest.raises(LogRemovedError, match=f"its log does not contain them: {A}:6. They were removed"):
        located(mysql(logs, of_a(*range(1, 9)), f"{A}:1-6", read=of_a(*range(1, 6))))


def test_transactions_that_were_never_logged_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Data was imported on the replica, and its GTIDs were added to the purged ones."""
    logs = Logs({FILE: numbers(1, 2, 3)})
    logs.begins(monkeypatch)
    with pytest.raises(LogRemovedError, match=f"its log does not contain them: {A}:90.* were never logged there"):
        located(mysql(logs, of_a(1, 2, 3, 90), f"{A}:90", read=of_a(1, 2)))


def test_a_log_that_is_not_sent_up_to_its_end_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server may end a stream early, even inside a transaction."""
    logs = Logs({FILE: numbers(1, 2, 3)})
    begins = logs.begins(monkeypatch)
    logs.end = LogPosition(FILE, begins["end"].offset + 1)
    for read in (of_a(1, 2), of_a(1, 2, 3)):
        with pytest.raises(SourceError, match=f"log only up to {begins['end']}, but the log ends at") as raised:
            located(mysql(logs, of_a(1, 2, 3), read=read))
        assert raised.value.retryable


def test_a_log_without_transactions_that_were_executed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = Logs({FILE: numbers(1, 2, 3)})
    begins = logs.begins(monkeypatch)
    with pytest.raises(SourceChangedError, match=f"{begins['end']}, this server's log lacks transactions .*: {A}:4-5"):
        located(mysql(logs, of_a(*range(1, 6)), read=of_a(*range(1, 6))))


def test_tags_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = Logs({FILE: ["tags"]})
    logs.begins(monkeypatch)
    with pytest.raises(SourceChangedError, match=r"continue there: this server's log cannot be compared: .* tags"):
        located(mysql(logs, of_a(1, 2, 3), read=of_a(1, 2)))


def test_domains_of_mariadb_are_compared_separately(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = Logs({FILE: ["0-1-4", "1-1-1", "0-1-5"], NEXT: ["0-2-6", "1-2-2"]}, before="0-1-3")
    begins = logs.begins(monkeypatch)

    def at(read: str) -> LogPosition:
        return located(maria(logs, "0-2-6,1-2-2", read=read))

    assert at("0-1-4,1-1-1") == begins["0-1-5"]
    assert at("0-1-5,1-1-1") == begins["0-2-6"]
    assert at("0-2-6,1-1-1") == begins["1-2-2"]
    assert at("0-2-6,1-2-2") == begins["end"]
    with pytest.raises(SourceChangedError, match=r"or another order: .* ends with 0-1-4 instead of 0-1-5"):
        at("0-1-5")  # the transaction of the other domain lies before


def test_other_transactions_with_the_same_numbers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = Logs({FILE: ["0-1-1", "0-2-2", "0-2-3"]}, before="0-1-0")
    logs.begins(monkeypatch)
    for match, how in [
        ("server_id = 2.* other transactions, or .* ends with 0-2-2 instead of 0-1-2", {"read": "0-1-2"}),
        (r"filters \(replicate_do_db\)", {"read": "0-1-1", "filtered": "shop"}),
        ("log of this server does not contain .* 0-1-4", {"read": "0-1-4"}),
        ("executed transactions up to 0-1-9 without logging", {"read": "0-1-1", "replicated": "0-1-9"}),
    ]:
        with pytest.raises(SourceChangedError, match=match):
            located(maria(logs, "0-2-3", **how))
    with pytest.raises(SourceChangedError, match="ends with 0-2-3 instead of 0-1-3"):
        located(maria(logs, "0-2-3", read="0-1-3"))  # nothing is unread


@pytest.mark.parametrize(
    ("transactions", "match"),
    [
        (["0-1-4", "0-2-6"], "has 0-2-6 at .* after 0-1-4; expected number 5"),
        (["0-1-4", "0-2-5", "0-2-7"], "has 0-2-7 at .* after 0-2-5; expected number 6"),
        (["0-1-4", "1-2-3"], "has 1-2-3 at .* after no transaction of this domain; expected number 1"),
        (["0-2-4", "0-1-4"], "has 0-1-4 at .* after 0-2-4"),
    ],
)
def test_gaps_of_mariadb_are_refused(transactions: list[str], match: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server may have executed a transaction without logging it."""
    logs = Logs({FILE: transactions}, before="0-1-3")
    logs.begins(monkeypatch)
    with pytest.raises(SourceChangedError, match=match):
        located(maria(logs, "0-2-9", read="0-1-4"))


def test_a_purged_log_of_mariadb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = Logs({FILE: ["0-1-7"]}, before="0-1-6")
    logs.begins(monkeypatch)
    with pytest.raises(LogRemovedError, match=r"its log does not contain them: 0-1-6\. They were removed"):
        located(maria(logs, "0-1-7", read="0-1-5"))
    logs = Logs({FILE: ["1-1-1"], NEXT: ["0-1-7"]}, before="0-1-6")
    logs.begins(monkeypatch)
    with pytest.raises(SourceChangedError, match="precede transactions already read: 1-1-1"):
        located(maria(logs, "0-1-7,1-1-1", read="0-1-7"))


@pytest.mark.parametrize(
    ("state", "progress", "message"),
    [
        ({"gtid_mode": "OFF_PERMISSIVE"}, {}, "gtid_mode is OFF_PERMISSIVE instead of ON"),
        ({}, {"start": ChunkStart(table=1)}, "the tables were being copied"),
        ({}, {"reading": READ.log}, "the tables were being copied"),
        ({}, {"gtids": None}, "the GTIDs of the transactions that the job has read are unknown, because gtid_mode"),
        ({}, {"gtids": ""}, "the job has not read any transaction"),
        ({}, {"gtids": "0-1-5"}, "MySQL and MariaDB have different GTIDs"),
        ({}, {"stop": READ.log}, r"the job ends by itself \(stop.mode\)"),
        ({}, {"stopped": "ALTER"}, "a change of columns"),
        ({}, {"defined": LogPosition("log.000009", 701)}, "a change of columns"),
        ({}, {"rereads": (Reread(table="shop.a", next=1, unread=(0,)),)}, "rereading the table shop.a"),
    ],
)
def test_progress_that_belongs_to_the_former_server_is_refused(
    state: dict[str, str], progress: dict[str, Any], message: str
) -> None:
    here = evolve(STATE, settings={**STATE.settings, **state})
    with pytest.raises(SourceChangedError, match=f"is not the server there .* cannot continue there: .*{message}"):
        continuation_of(replica([]), here, evolve(READ, **progress), is_bounded=False)


@pytest.mark.parametrize(
    ("strict", "galera", "message"),
    [("OFF", "OFF", "gtid_strict_mode is OFF instead of ON"), ("ON", "ON", "the server belongs to a Galera cluster"),
     ("ON", "OFF", "")],
)  # fmt: skip
def test_settings_of_mariadb(strict: str, galera: str, message: str) -> None:
    candidate = maria(Logs({}), "", strict=strict, galera=galera).candidate
    server, state, progress = candidate.server, candidate.state, evolve(READ, gtids="0-1-5")
    assert failover_note(server, state).startswith("after a failover the job can" + ("not" if message else " continue"))
    with contextlib.nullcontext() if not message else pytest.raises(SourceChangedError, match=message):
        continuation_of(server, state, progress, is_bounded=False)


def test_a_job_that_ends_by_itself_is_refused() -> None:
    with pytest.raises(SourceChangedError, match=r"the job ends by itself \(stop.mode\)"):
        continuation_of(replica([]), STATE, READ, is_bounded=True)


def test_the_same_server_is_not_another_one() -> None:
    assert continuation_of(replica([]), STATE, evolve(READ, server="here", gtids=None), is_bounded=True) is None


def test_positions_of_the_former_server_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = Logs({FILE: numbers(*range(1, 8))})
    begins = logs.begins(monkeypatch)
    last = f"{A}:5/7/650/0"
    former = evolve(READ, defined=LogPosition("log.000009", 500), rereads=(Reread(table="a"),), last=last)
    found = continuation_of(mysql(logs, of_a(*range(1, 8))).candidate.server, STATE, former, is_bounded=False)
    assert found is not None
    moved = found.continued()
    assert moved == evolve(former, server="here", log=begins["a:6"], last="", defined=None)
    assert Progress.of(json.loads(json.dumps(moved.cursor()))) == moved
    assert not moved.is_copying
    assert "(server_uuid = here), which has all transactions that were read from the server there" in found.moved()


def test_transactions_that_a_sink_may_have_written_are_required(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = Logs({FILE: numbers(*range(1, 8))})
    logs.begins(monkeypatch)
    found = mysql(logs, of_a(*range(1, 8)), read=of_a(1, 2))
    found.continued(of_a(*range(1, 8)), writes_directly=True)
    for written, match in ((of_a(8), f"may have written to its target: {A}:8"), (None, "a sink writes directly")):
        found.continued(written)
        with pytest.raises(SourceChangedError, match=match):
            found.continued(written, writes_directly=True)


def test_the_same_numbers_of_a_promoted_server_are_other_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The job has read 0-1-3, which was lost, and the promoted server has assigned the number 3 again."""
    logs = Logs({FILE: ["0-1-2", "0-2-3", "0-2-4"]}, before="0-1-1")
    logs.begins(monkeypatch)
    found = maria(logs, "0-2-4", read="0-1-2")
    for written in ("0-1-2", "0-2-3"):
        found.continued(written, writes_directly=True)
    with pytest.raises(SourceChangedError, match=r"log does not contain transactions that a sink .*: 0-1-3"):
        found.continued("0-1-3", writes_directly=True)


BODY = {"from": "log.000009:700", "to": "log.000009:900", "server": "there", "gtids": READ.gtids, "last": "",
        "prepared": ["x"]}  # fmt: skip


class Here(type(replica([]))):  # type: ignore[misc]
    """A server to which the url leads."""

    def state(self) -> ServerState:
        return STATE


def test_a_range_of_the_former_server_is_not_read() -> None:
    here, reports = Here({}), Reports()
    assert is_skipped(here, STATE, BODY, reports)
    reading = evolve(READ, reading=LogPosition("log.000009", 900), prepared=("x",))
    (fact,) = reports.facts
    assert reading.with_fact(fact) == evolve(reading, reading=None), "as before the range was planned"
    assert not is_skipped(here, STATE, {**BODY, "server": "here"}, reports)
    earlier = {name: value for name, value in BODY.items() if name not in ("server", "gtids")}
    assert not is_skipped(here, STATE, earlier, reports), "planned by an earlier version, at the server of the cursor"
    assert len(reports.facts) == 1


@pytest.mark.parametrize(
    ("body", "match"),
    [
        ({"gtids": ""}, "GTIDs of the transactions that the job has read are unknown"),
        ({"window": []}, "the tables were being copied"),
        ({"chunk": 1, "table": "shop.a"}, "the tables were being copied"),
        ({"chunk": 1, "table": "shop.a", "reread": True}, "the job was rereading the table shop.a"),
    ],
)
def test_other_splits_of_the_former_server_are_refused(body: dict[str, Any], match: str) -> None:
    with pytest.raises(SourceChangedError, match=f"is not the server there from which .*{match}"):
        is_skipped(Here({}), STATE, {**BODY, **body}, Reports())
