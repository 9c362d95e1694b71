"""Starts in the past: rows in the log that precede a change of columns."""

import struct
from typing import Any

import pytest
from attrs import define

from seatunnel_core.connector_api.errors import SourceChangedError
from seatunnel_core.connectors.mysql_cdc import log_reader
from seatunnel_core.connectors.mysql_cdc.job_start import first_since, require_readable
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
    """Return a log with one step per second.

    A step is a statement, a transaction with a row (``row``, ``named`` or ``other``), or ``prepared``: one that is
    distributed and has no row.
    """
    log = LogWriter()
    log.format()
    for step in steps:
        log.timestamp += 1
        if step == "prepared":
            log.query("XA START X'61',X'',1")
            log.event(38, bytes(1) + struct.pack("<III", 1, 1, 0) + b"a")
            continue
        if step not in ("row", "named", "other"):
            log.query(step)
            continue
        log.query("BEGIN")
        name = "b" if step == "other" else "a"
        log.table_map([INT, INT], name=name, optional=NAMES if step == "named" else b"")
        log.rows(30, 2, [ONE * 2])
        log.xid()
    return log


def serve(monkeypatch: pytest.MonkeyPatch, log: LogWriter) -> LogPosition:
    """Let readers read a log; return its end."""
    starts = {START.offset: 0}
    offset = START.offset
    for number, event in enumerate(log.written):
        starts[offset] = number
        offset += len(event)

    def log_stream(_: Any, start: LogPosition) -> Stream:
        head = log.written[:1] if start != START else []
        return Stream(LogWriter(written=[*head, *log.written[starts[start.offset] :]]))

    monkeypatch.setattr(log_reader, "log_stream", log_stream)
    return LogPosition(START.file, log.offset)


def check(monkeypatch: pytest.MonkeyPatch, log: LogWriter) -> None:
    require_readable(AnsweringServer({}), [table("a")], START, serve(monkeypatch, log))


def since(monkeypatch: pytest.MonkeyPatch, log: LogWriter, second: int) -> LogPosition:
    """Return where a job begins that starts at a second of the log."""
    end = serve(monkeypatch, log)
    return first_since(AnsweringServer({}), [table("a")], START, end, (SECOND + second) * 1_000)


@pytest.mark.parametrize(
    "statement", [SWAPPED, "ALTER TABLE a ADD b int", "DROP TABLE a", "RENAME TABLE b TO a", "DROP DATABASE shop"]
)
def test_rows_without_names_before_a_change_are_refused(monkeypatch: pytest.MonkeyPatch, statement: str) -> None:
    log = written("row", statement, "row")
    with pytest.raises(SourceChangedError, match=rf"may change columns of shop\.a: '{statement}'.*Start the job at"):
        check(monkeypatch, log)


def test_a_change_is_shown_without_its_strings(monkeypatch: pytest.MonkeyPatch) -> None:
    log = written("row", "ALTER TABLE a ADD b text DEFAULT 'secret'")
    with pytest.raises(SourceChangedError, match="ADD b text DEFAULT '…'"):
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


def test_a_job_that_starts_at_a_time_begins_with_the_first_transaction_since_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows before an ALTER TABLE before that time cannot be read, and need not be."""
    log = written("row", "other", SWAPPED, "row")
    before = LogPosition(START.file, written("row").offset)
    assert since(monkeypatch, log, 2) == before
    server, tables, end = AnsweringServer({}), [table("a")], LogPosition(START.file, log.offset)
    require_readable(server, tables, before, end)
    assert since(monkeypatch, log, 9) == end
    with pytest.raises(SourceChangedError, match="may change columns"):
        require_readable(server, tables, since(monkeypatch, log, 1), end)


@pytest.mark.parametrize(
    ("steps", "second", "is_found"),
    [
        (("prepared", "row", "XA COMMIT X'61',X'',1"), 2, False),
        (("prepared", "row"), 9, False),
        (("prepared", "XA ROLLBACK X'61',X'',1", "row"), 3, True),
        (("XA COMMIT X'61',X'',1", "row", "prepared"), 2, True),
    ],
)
def test_a_distributed_transaction_that_is_open_at_the_start_is_read(
    monkeypatch: pytest.MonkeyPatch, steps: tuple[str, ...], second: int, is_found: bool
) -> None:
    """Otherwise nothing shows at its commit that it has no rows of captured tables."""
    expected = LogPosition(START.file, written(*steps[: second - 1]).offset) if is_found else START
    assert since(monkeypatch, written(*steps), second) == expected
