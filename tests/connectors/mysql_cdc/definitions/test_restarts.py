"""Starts and restarts of the source in one process, without a server."""

from collections.abc import Sequence
from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.capture_errors import ColumnsChangedError
from seatunnel_core.connector_api.errors import SourceChangedError
from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connectors.jdbc.column import Column
from seatunnel_core.connectors.jdbc.databases.mysql_values import column_of
from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.connectors.mysql_cdc.log_reader import LogReader
from seatunnel_core.connectors.mysql_cdc.progress import Progress
from seatunnel_core.connectors.mysql_cdc.recorded_tables import recorded
from seatunnel_core.connectors.mysql_cdc.server import ServerState
from seatunnel_core.connectors.mysql_cdc.source import MySQLCdcSource
from seatunnel_core.connectors.mysql_log.position import LogPosition
from tests.connectors.mysql_cdc.server_stub import AnsweringServer
from tests.connectors.mysql_cdc.tables import table

STATE = ServerState(version="8.0.15", settings={"server_uuid": "here", "gtid_mode": "OFF"})
END = LogPosition("bin.000001", 900)
ANSWERS: dict[str, Any] = {
    "SHOW BINARY LOGS": [("bin.000001", 9_000)],
    "SHOW CREATE TABLE": [("a", "")],
    "SELECT UNIX_TIMESTAMP()": [(1_700_000_000,)],
    "SELECT 1 FROM `shop`.`a` LIMIT 0": [],
}
PLANNING = PlanningContext(parallelism=1)


class Reached(AnsweringServer):
    """A server without GTIDs whose log grows."""

    def position(self, state: ServerState) -> LogPosition:
        looked = self.asked.count("SELECT 1 FROM `shop`.`a` LIMIT 0")  # type: ignore[attr-defined]
        return LogPosition(END.file, END.offset + 10 * looked)

    def state(self) -> ServerState:
        return STATE


class Source(MySQLCdcSource):
    """A source that finds the tables that the test provides, one version after the other."""

    versions: Sequence[Found] = ()

    def _found(self) -> tuple[Found, ...]:
        found, *later = self.versions
        self.versions = later or [found]
        return (found,)


def source(*versions: Found, **more: Any) -> Source:
    """Return a source. It was planned with the first version of its table, and then finds the other ones."""
    given = {"url": "jdbc:mysql://h/shop", "username": "u", "password": "p", "table-names": ["shop.a"], **more}
    made = Source(options_of(Source, given))
    made._server, made._state, made._tables = Reached(ANSWERS), STATE, versions[:1]
    made.versions = versions[1:] or versions
    return made


def stopped(log: LogPosition) -> dict[str, Any]:
    """Return the cursor of a job that a change of columns has stopped; the recorded columns are the same."""
    progress = Progress(server="here", log=log, stopped="ALTER", changed=("shop.a",), is_reported=True)
    progress = evolve(progress, statement="ALTER TABLE a MODIFY a int NOT NULL")
    return {**progress.cursor(), "tables": recorded([table("a")])}


@pytest.fixture
def _no_later_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LogReader, "batches", lambda *_, **__: iter(()))


@pytest.mark.usefixtures("_no_later_events")
def test_a_change_that_was_resumed_is_not_reported_again() -> None:
    """The process restarts the job from the checkpoint at the change, because there is no later one yet."""
    made, cursor = source(table("a")), stopped(END)
    for _ in range(2):
        made.restored_schemas(cursor, ())
        assert made.poll(cursor, PLANNING).cursor["stopped"] == ""


@pytest.mark.usefixtures("_no_later_events")
def test_a_restart_reports_a_later_change() -> None:
    made = source(table("a"))
    made.restored_schemas(stopped(END), ())
    made.poll(stopped(END), PLANNING)
    later = stopped(LogPosition(END.file, 950))
    made.restored_schemas(later, ())
    with pytest.raises(ColumnsChangedError):
        made.poll(later, PLANNING)


def test_a_resumed_job_records_options_that_an_earlier_version_did_not_record() -> None:
    moment = altered([*table("a").columns, column_of("t", "timestamp")])
    record = recorded([moment])
    zone = b',"zone":"UTC"'
    assert zone in record
    cursor = {**Progress(server="here", log=END).cursor(), "tables": record.replace(zone, b"")}
    made = source(moment)
    made.restored_schemas(cursor, ())
    assert zone in made.poll(cursor, PLANNING).cursor["tables"]


def altered(columns: Sequence[Column]) -> Found:
    """Return the table with other columns."""
    found = table("a")
    assert found.table is not None
    return evolve(found, columns=tuple(columns), table=evolve(found.table, columns=tuple(columns)))


@pytest.mark.parametrize("mode", ["initial", "latest"])
def test_columns_that_changed_before_the_first_poll_are_refused(mode: str) -> None:
    """The change is not in the log of the job: rows without column names would have wrong values."""
    key, a = table("a").columns
    two = [key, a, column_of("b", "int")]
    made = source(altered(two), altered([key, two[2], a]), **{"startup.mode": mode})
    for _ in range(2):
        with pytest.raises(
            SourceChangedError, match=r"columns of shop\.a have changed .*: their order; start a new job"
        ):
            made.poll({}, PLANNING)


def test_the_log_begins_where_the_tables_are_the_planned_ones() -> None:
    """A change that becomes visible after the end was determined may lie before the end."""
    made = source(table("a"), altered(table("a").columns[:1]), table("a"), **{"startup.mode": "latest"})
    assert made.poll({}, PLANNING).cursor["log"] == str(LogPosition(END.file, END.offset + 20))
