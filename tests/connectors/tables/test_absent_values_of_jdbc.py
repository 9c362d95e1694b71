"""The writer of ``Jdbc`` and values that did not arrive: what it checks and prepares before the unit is staged."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.connector_api.sink import SinkWriter
from seatunnel_core.connector_api.testing.drive import begin, place, sink_place
from seatunnel_core.connectors.jdbc.databases import windows
from seatunnel_core.connectors.jdbc.databases.sqlite import SQLite
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.errors import SinkError
from seatunnel_core.rows.batch import Batch
from tests.connectors.jdbc import databases
from tests.connectors.tables.change_log import AFTER, INSERT, KEY, SCHEMA, Image, batches_of

WHOLE: list[Image] = [(INSERT, ("a", number), ("x", "y"), (False, False)) for number in range(2)]
PARTIAL: list[Image] = [(AFTER, ("a", 1), ("z", None), (False, True))]


@pytest.fixture(autouse=True)
def pools() -> Iterator[None]:
    forget()
    yield
    forget()


def batch(images: list[Image]) -> Batch:
    (found,) = batches_of(images, repeat(9))
    return found


def writer_on(folder: Path, **options: Any) -> SinkWriter:
    """A writer that sends every two rows."""
    options = {"generate_sink_sql": True, "table": "things", "primary_keys": KEY, "batch_size": 2, **options}
    sink = databases.sink(folder / "target.db", **options)
    sink.prepare(sink_place(place()))
    return begin(sink, SCHEMA, place())


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("before", [[], [batch(WHOLE)]])
def test_a_server_without_window_functions_is_refused_before_the_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: list[Batch], exact: bool
) -> None:
    """The commit failed after each restore. The version of the server is known once a connection is open."""
    writer = writer_on(tmp_path, is_exactly_once=exact)
    for each in before:
        writer.write(each)
    monkeypatch.setattr(windows, "_without", {})
    forget()
    began = SQLite.begin_rows

    def begin_rows(self: SQLite, connection: Any) -> None:
        windows.note_version(self.address, "5.7.22")
        began(self, connection)

    monkeypatch.setattr(SQLite, "begin_rows", begin_rows)
    with pytest.raises(SinkError, match=r"MySQL 5\.7\.22 has no window functions.*binlog_row_image = FULL"):
        writer.write(batch(PARTIAL))


def test_other_writers_are_not_locked_out_while_rows_are_read(tmp_path: Path) -> None:
    """The column was added in a transaction that lasted until the next rows were sent."""
    writer = writer_on(tmp_path, is_exactly_once=True)
    writer.write(batch(WHOLE))
    writer.write(batch(PARTIAL))
    with closing(sqlite3.connect(tmp_path / "target.db", timeout=0)) as other:
        other.execute("CREATE TABLE others (a)")
    assert writer.finish().rows == 3


def test_a_temporary_table_is_not_altered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MySQL ends the transaction with ALTER TABLE, and the rows would be written although the unit fails."""
    ran: list[str] = []
    execute = SQLite.execute

    def recorded(self: SQLite, connection: Any, statement: str) -> None:
        ran.append(statement)
        execute(self, connection, statement)

    monkeypatch.setattr(SQLite, "execute", recorded)
    writer = writer_on(tmp_path)
    writer.write(batch(WHOLE))
    writer.write(batch(PARTIAL))
    writer.finish()
    assert [statement for statement in ran if "CREATE TEMPORARY" in statement]
    assert not [statement for statement in ran if "ALTER" in statement]
    rows = databases.ask(tmp_path / "target.db", "SELECT b, name, big FROM things ORDER BY b")
    assert rows == [(0, "x", "y"), (1, "z", "y")]


def test_a_user_who_may_not_create_temporary_tables_is_refused_before_the_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit failed after each restore."""
    writer = writer_on(tmp_path, is_exactly_once=True)
    execute = SQLite.execute

    def refused(self: SQLite, connection: Any, statement: str) -> None:
        if "TEMPORARY" in statement:
            raise sqlite3.OperationalError("access denied")
        execute(self, connection, statement)

    monkeypatch.setattr(SQLite, "execute", refused)
    with pytest.raises(SinkError, match=r"the changed rows of things are incomplete.*temporary table.*access denied"):
        writer.write(batch(PARTIAL))
