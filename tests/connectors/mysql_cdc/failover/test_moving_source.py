"""The source when its url leads to another server: which calls check it, and which of them moves the job."""

from collections.abc import Sequence
from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.connector_api.errors import SourceChangedError, SourceError
from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connectors.change_data.rereading import Reread
from seatunnel_core.connectors.mysql_cdc.failover.candidate import LaggingReplicaError
from seatunnel_core.connectors.mysql_cdc.progress import Progress
from seatunnel_core.connectors.mysql_cdc.recorded_tables import recorded
from seatunnel_core.connectors.mysql_cdc.server import ServerState
from seatunnel_core.connectors.mysql_cdc.source import MySQLCdcSource
from seatunnel_core.connectors.mysql_log.position import LogPosition
from tests.connectors.mysql_cdc.failover.replica_stub import FREE, MYSQL, Logs, numbers, of_a, replica
from tests.connectors.mysql_cdc.server_stub import AnsweringServer
from tests.connectors.mysql_cdc.tables import table

FILE = "bin.000001"
TABLES = (table("a"),)
READ = Progress(server="there", log=LogPosition("log.000009", 700), gtids=of_a(1, 2, 3))
MESSAGES = {"format": "COMPATIBLE_DEBEZIUM_JSON", "debezium": {"topic.prefix": "s1"}}
ONCE = PlanningContext(parallelism=1)
DIRECTLY = PlanningContext(parallelism=1, writes_directly=True)


class Reached(AnsweringServer):
    """A server to which the url leads."""

    def state(self) -> ServerState:
        return MYSQL


class Source(MySQLCdcSource):
    """The source with known tables."""

    looked = 0

    def _look_again(self) -> Any:
        self.looked += 1
        return TABLES


def source(logs: Logs, executed: str = "", replicates: Sequence[str] | None = None, **more: Any) -> Source:
    given = {"url": "jdbc:mysql://h/shop", "username": "u", "password": "p", "table-names": ["shop.a"], **more}
    found = Source(options_of(Source, given))
    variables: dict[str, Any] = {"gtid_executed": executed or of_a(1, 2, 3, 4), "gtid_purged": "", "gtid_owned": ""}
    server: Any = replica([*logs.files], logs.end, replicates=replicates, **variables)
    found._server = Reached({**server.answers, "SELECT UNIX_TIMESTAMP": [(1_700_000_000,)]})
    found._state, found._tables = MYSQL, TABLES
    return found


def cursor(progress: Progress) -> dict[str, Any]:
    return {**progress.cursor(), "tables": recorded(TABLES)}


@pytest.fixture
def logs(monkeypatch: pytest.MonkeyPatch) -> Logs:
    found = Logs({FILE: numbers(1, 2, 3, 4)})
    found.begins(monkeypatch)
    return found


def test_a_poll_moves_the_job_and_warns(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    made, begins = source(logs), logs.begins(monkeypatch)
    found = made.poll(cursor(READ), ONCE)
    assert (found.cursor["server"], found.cursor["log"]) == ("here", str(begins["a:4"]))
    (body,) = found.items
    assert (body["server"], body["from"], body["gtids"]) == ("here", str(begins["a:4"]), READ.gtids)
    (warning,) = [each for each in found.warnings if "reading continues at" in each]
    assert "(server_uuid = here), which has all transactions that were read from the server there" in warning
    assert made.looked == 1, "a replica may have executed changes of columns while the job waited for it"


def test_no_poll_moves_a_job_whose_range_is_in_flight(logs: Logs) -> None:
    reading = cursor(evolve(READ, reading=LogPosition("log.000009", 900)))
    found = source(logs).poll(reading, ONCE)
    assert (found.items, found.cursor, found.warnings) == ((), reading, ())


def test_a_poll_waits_for_a_replica(logs: Logs) -> None:
    made = source(logs, executed=of_a(1, 2), replicates=FREE)
    for attempt in (
        lambda: made.poll(cursor(READ), ONCE),
        lambda: made.restored_schemas(cursor(READ), ()),
        lambda: made.poll(cursor(READ), ONCE),
    ):
        with pytest.raises(LaggingReplicaError) as raised:
            attempt()
        assert raised.value.retryable


def test_only_a_process_that_knew_the_former_server_moves_a_sink_that_writes_directly(logs: Logs) -> None:
    made = source(logs)
    with pytest.raises(SourceChangedError, match="a sink writes directly, so it may have written changes after"):
        made.poll(cursor(READ), DIRECTLY)
    made._tracking.written = of_a(1, 2, 3, 4, 5)
    with pytest.raises(SourceChangedError, match=r"a sink which writes directly may have written .*:5"):
        made.poll(cursor(READ), DIRECTLY)
    made._tracking.written = of_a(1, 2, 3, 4)
    assert made.poll(cursor(READ), DIRECTLY).cursor["server"] == "here"


def test_a_poll_records_what_a_sink_that_writes_directly_may_write(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    here = evolve(READ, server="here", log=logs.begins(monkeypatch)["a:4"])
    made = source(logs)
    made.poll(cursor(here), ONCE)
    assert made._tracking.written is None
    made.poll(cursor(here), DIRECTLY)
    assert made._tracking.written == of_a(1, 2, 3, 4)


@pytest.mark.parametrize("more", [{}, MESSAGES])
def test_a_restart_is_checked_before_tasks_read(logs: Logs, more: dict[str, Any]) -> None:
    """Also if an earlier poll has moved the job, and the checkpoint is older; and for sources of messages."""
    made = source(logs, **more)
    made.poll(cursor(READ), ONCE)
    assert made._planner is not None
    rereads = (Reread(table="shop.a", next=1, unread=(0,)),)
    for former, match in (
        (evolve(READ, rereads=rereads), "the job was rereading the table shop.a"),
        (evolve(READ, gtids=None), "the GTIDs of the transactions that the job has read are unknown"),
    ):
        with pytest.raises(SourceChangedError, match=match):
            made.restored_schemas(cursor(former), ())
    made.restored_schemas(cursor(READ), ())


@pytest.mark.parametrize("more", [{}, MESSAGES])
def test_a_restart_at_the_same_server_is_checked(
    logs: Logs, more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    begins, made = logs.begins(monkeypatch), source(logs, **more)
    here = evolve(READ, server="here", log=begins["a:4"])
    made.restored_schemas(cursor(here), ())
    other = cursor(evolve(here, gtids=of_a(1, 2)))
    made.poll(other, ONCE)  # it was checked in this process
    with pytest.raises(SourceChangedError, match="The server was restored from a backup"):
        made.restored_schemas(other, ())


def test_a_poll_after_a_failed_one_is_checked(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server may have been restored while it was not reachable."""
    begins, made = logs.begins(monkeypatch), source(logs)
    here = evolve(READ, server="here", log=begins["a:4"])
    made.poll(cursor(here), ONCE)
    other = cursor(evolve(here, gtids=of_a(1, 2)))
    made.poll(other, ONCE)
    answers = made._server.answers  # type: ignore[attr-defined]
    position = answers.pop("SHOW MASTER STATUS")
    with pytest.raises(SourceError, match="denied"):
        made.poll(other, ONCE)
    answers["SHOW MASTER STATUS"] = position
    with pytest.raises(SourceChangedError, match="The server was restored from a backup"):
        made.poll(other, ONCE)
