"""The source with servers, without an engine: every row arrives exactly once while writers change the tables."""

import time
from contextlib import ExitStack, closing
from itertools import chain
from typing import Any

import pytest

from seatunnel_core.connectors.jdbc.databases.mysql import READING
from seatunnel_core.connectors.mysql_cdc.chunk_reader import ChunkReader, Rows
from seatunnel_core.connectors.mysql_cdc.log_stream import log_stream
from tests.connectors.mysql_cdc.cdc_servers import cdc_options
from tests.connectors.mysql_cdc.driven import DrivenSource, StrictTarget
from tests.connectors.mysql_cdc.writers import Writers, text

pytestmark = pytest.mark.servers

ATTEMPTS = 20
AFTER_S = 1.0
"""Time that the writers continue after the tables are read."""

ENOUGH = 100
"""Transactions, for which slow machines need longer."""


def stored_rows(server: Any, table: str) -> dict[Any, Any]:
    return {(row[0],): {"id": row[0], "a": row[1], "b": row[2]} for row in server.run(f"SELECT id, a, b FROM {table}")}


def copied(server: Any, writers: Writers, *, split_size: int = 250) -> StrictTarget:
    """Read the tables and the log while the writers run, and for a while; then up to the end of the log."""
    options = {**cdc_options(server, "t", "u"), "snapshot.split.size": split_size}
    source = DrivenSource(options)
    target = StrictTarget(source.keys)
    with writers.running():
        until = None
        while until is None or time.monotonic() < until or (writers.transactions <= ENOUGH and not writers.failed):
            batches, _ = source.turn()
            for batch in batches:
                target.add(batch)
            if until is None and source.cursor["start"] is None and not source.cursor["window"]:
                until = time.monotonic() + AFTER_S
    before = None
    while source.cursor["reading"] is not None or source.cursor["log"] != before:
        before = source.cursor["log"]
        for batch in source.turn()[0]:
            target.add(batch)
    return target


def test_rows_arrive_once_while_they_are_written(server: Any) -> None:
    writers = Writers(server)
    writers.create()
    target = copied(server, writers)
    assert writers.transactions > ENOUGH
    for table in ("t", "u"):
        assert target.rows[f"shop.{table}"] == stored_rows(server, table)


def test_text_keys_are_compared_by_the_database(server: Any) -> None:
    writers = Writers(server, key=text)
    writers.create("varchar(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", rows=1_000)
    target = copied(server, writers, split_size=100)
    for table in ("t", "u"):
        assert target.rows[f"shop.{table}"] == stored_rows(server, table)


@pytest.mark.twin
@pytest.mark.parametrize("server", ["gtids", "locks"], indirect=True)
def test_a_position_beside_a_snapshot_is_no_mark(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The storm finds the fault of a build that takes the end of the log as the mark of a chunk."""

    def position_as_mark(self: ChunkReader) -> Rows:
        mark = self.server.position(self.state)
        with self.server.dialect.pool.lend(READING) as connection:
            self._begin(connection)
            yield from self._selected(connection, "")
        return mark

    monkeypatch.setattr(ChunkReader, "rows", position_as_mark)
    for _ in range(ATTEMPTS):
        server.empty()
        writers = Writers(server)
        writers.create(rows=1_000)
        try:
            target = copied(server, writers, split_size=100)
        except AssertionError:
            return
        if any(target.rows[f"shop.{table}"] != stored_rows(server, table) for table in ("t", "u")):
            return
    pytest.fail(f"no row was lost in {ATTEMPTS} attempts: the storm proves nothing")


def test_readers_that_read_at_the_same_time_do_not_end_each_other(server: Any) -> None:
    """They have no server id: the server ends the older one of two readers with the same id."""
    server.run("CREATE TABLE t (id int PRIMARY KEY, a longblob)")
    own = DrivenSource(cdc_options(server, "t")).source._server
    start = own.position(own.state())
    server.run(*(f"INSERT INTO t VALUES ({number}, REPEAT('x', 500000))" for number in range(16)))
    with ExitStack() as stack:
        streams = [stack.enter_context(closing(log_stream(own, start))).events() for _ in range(3)]
        begun = [next(events) for events in streams]
        sizes = [
            sum(1 for each in chain([first], events) if each) for first, events in zip(begun, streams, strict=True)
        ]
    assert min(sizes) > 16
    assert len(set(sizes)) == 1
