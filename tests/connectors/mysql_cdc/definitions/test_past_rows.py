"""Starts in the past: rows in the log that precede a change of columns."""

from typing import Any

import pytest
from attrs import define

from seatunnel_core.connector_api.errors import SourceChangedError
from seatunnel_core.connectors.mysql_cdc import log_reader
from seatunnel_core.connectors.mysql_cdc.job_start import require_readable
from seatunnel_core.connectors.mysql_log.position import LogPosition
from tests.connectors.mysql_cdc.server_stub import AnsweringServer
from tests.connectors.mysql_cdc.tables import table
from tests.connectors.mysql_log.encoder import LogWriter, packed_bytes
from tests.connectors.mysql_log.small_log import INT, ONE, START

NAMES = b"\4" + packed_bytes(packed_bytes(b"id") + packed_bytes(b"a"))
SWAPPED = "ALTER TABLE a MODIFY id int AFTER a"
SECOND = 1_700_000_000


@define
class Stream:
    """Events that a server sends."""

    log: LogWriter

    def events(self) -> Any:
        return self.log.events()

    def close(self) -> None:
        """Do nothing."""


def written(*steps: str) -> LogWriter:
    """Return a log. Each step is a statement, or ``row`` or ``named`` for a transaction with a row; one per second."""
    log = LogWriter()
    log.format()
    for step in steps:
        log.timestamp += 1
        if step not in ("row", "named", "other"):
            log.query(step)
            continue
        log.query("BEGIN")
        name = "b" if step == "other" else "a"
        log.table_map([INT, INT], name=name, optional=NAMES if step == "named" else b"")
        log.rows(30, 2, [ONE * 2])
        log.xid()
    return log


def check(monkeypatch: pytest.MonkeyPatch, log: LogWriter, since_ms: int | None = None) -> None:
    starts = {START.offset: 0}
    offset = START.offset
    for number, event in enumerate(log.written):
        starts[offset] = number
        offset += len(event)

    def log_stream(_: Any, start: LogPosition) -> Stream:
        head = log.written[:1] if start != START else []
        return Stream(LogWriter(written=[*head, *log.written[starts[start.offset] :]]))

    monkeypatch.setattr(log_reader, "log_stream", log_stream)
    end = LogPosition(START.file, log.offset)
    require_readable(AnsweringServer({}), [table("a")], START, end, since_ms)


@pytest.mark.parametrize(
    "statement", [SWAPPED, "ALTER TABLE a ADD b int", "DROP TABLE a", "RENAME TABLE b TO a", "DROP DATABASE shop"]
)
def test_rows_without_names_before_a_change_are_refused(monkeypatch: pytest.MonkeyPatch, statement: str) -> None:
    log = written("row", statement, "row")
    with pytest.raises(SourceChangedError, match=rf"may change columns of shop\.a: '{statement}'.*Start the job at"):
        check(monkeypatch, log)


@pytest.mark.parametrize(
    "steps",
    [
        (SWAPPED, "row", "row"),
        ("named", SWAPPED, "named"),
        ("other", SWAPPED, "row", "ALTER TABLE b ADD b int"),
        ("row", "TRUNCATE a", "CREATE INDEX i ON a (a)", "row"),
        ("row", "ALTER TABLE a COMMENT = 'MODIFY'", "row"),
    ],
)
def test_other_logs_are_accepted(monkeypatch: pytest.MonkeyPatch, steps: tuple[str, ...]) -> None:
    check(monkeypatch, written(*steps))


def test_only_rows_since_the_start_time_count(monkeypatch: pytest.MonkeyPatch) -> None:
    log = written("row", "other", SWAPPED, "row")
    check(monkeypatch, log, (SECOND + 2) * 1_000)
    check(monkeypatch, log, (SECOND + 9) * 1_000)
    with pytest.raises(SourceChangedError, match="may change columns"):
        check(monkeypatch, log, (SECOND + 1) * 1_000)
