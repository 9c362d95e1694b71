"""Tables without a key: each of several equal rows arrives exactly once, from the snapshot or from the log."""

import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from typing import Any

import pytest
from attrs import define, field

from seatunnel_core.capture_errors import CaptureSetupError
from seatunnel_core.connector_api.batch import Batch
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.mysql_cdc import chunk_reader, table_checks
from seatunnel_core.errors import SourceError
from seatunnel_core.rows.kind import RowKind
from tests.connectors.mysql_cdc.cdc_servers import cdc_options
from tests.connectors.mysql_cdc.driven import DrivenSource
from tests.connectors.mysql_cdc.writers import Writers

pytestmark = pytest.mark.servers

TABLES = tuple(f"t{number}" for number in range(6))
CAPTURE = {"tables-without-key": "capture"}
ATTEMPTS = 20
ROWS = 300


class EqualRows(Writers):
    """Writers of tables without a key. A transaction changes each table."""

    def create(self, declared: str = "int", rows: int = ROWS) -> None:
        with closing(self.server.connect()) as connection, connection.cursor() as cursor:
            for table in TABLES:
                cursor.execute(f"CREATE TABLE {table} (a {declared}, b varchar(50))")
                cursor.executemany(f"INSERT INTO {table} VALUES (%s, %s)", [(n % 5 or None, "x") for n in range(rows)])

    def _change(self, chosen: random.Random, cursor: Any, table: str, amount: int) -> None:
        for name in TABLES:
            old, new = chosen.randrange(1, 5), chosen.choice([1, 2, 3, 4, None])
            cursor.execute(
                chosen.choice(
                    [
                        f"INSERT INTO {name} VALUES ({new or 'NULL'}, 'x')",
                        f"UPDATE {name} SET a = {new or 'NULL'}, b = 'xy' WHERE a = {old} LIMIT 1",
                        f"DELETE FROM {name} WHERE a = {old} LIMIT 1",
                    ]
                )
            )


@define
class EqualTarget:
    """Numbers of equal rows by table. A removed row must exist."""

    rows: Counter[tuple[str, Any, Any]] = field(factory=Counter)

    def add(self, batch: Batch) -> None:
        kinds = [RowKind.INSERT] * batch.rows.num_rows if batch.kinds is None else batch.kinds.to_pylist()
        for kind, row in zip(kinds, batch.rows.to_pylist(), strict=True):
            image = batch.table, row["a"], row["b"]
            if kind in (RowKind.INSERT, RowKind.UPDATE_AFTER):
                self.rows[image] += 1
            else:
                assert self.rows[image] > 0, f"{image} is removed, but does not exist"
                self.rows[image] -= 1


def copied(server: Any, writers: EqualRows, seconds: float = 1.0) -> EqualTarget:
    """Read the tables and the log while the writers run, and then the rest of the log."""
    source, target = DrivenSource({**cdc_options(server, *TABLES), **CAPTURE}), EqualTarget()
    with writers.running():
        until = None
        while until is None or time.monotonic() < until:
            for batch in source.turn()[0]:
                target.add(batch)
            if until is None and source.cursor["start"] is None and not source.cursor["window"]:
                until = time.monotonic() + seconds
    before = None
    while source.cursor["reading"] is not None or source.cursor["log"] != before:
        before = source.cursor["log"]
        for batch in source.turn()[0]:
            target.add(batch)
    return target


def stored_rows(server: Any) -> Counter[tuple[str, Any, Any]]:
    found = Counter[tuple[str, Any, Any]]()
    for table in TABLES:
        found.update((f"shop.{table}", a, b) for a, b in server.run(f"SELECT a, b FROM {table}"))
    return found


def test_equal_rows_arrive_once_while_they_are_written(server: Any) -> None:
    for _ in range(3):
        server.empty()
        writers = EqualRows(server)
        writers.create()
        target = copied(server, writers)
        assert writers.transactions > 20
        assert +target.rows == stored_rows(server)


@pytest.mark.twin
@pytest.mark.parametrize("server", ["gtids", "locks"], indirect=True)
def test_a_position_without_the_lock_is_no_mark(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The storm finds the fault of a build that does not lock the table."""
    monkeypatch.setattr(chunk_reader, "locked_table", lambda *_: nullcontext())
    for _ in range(ATTEMPTS):
        server.empty()
        writers = EqualRows(server)
        writers.create()
        try:
            if +copied(server, writers, 0.2).rows != stored_rows(server):
                return
        except AssertionError:
            return
    pytest.fail(f"no row was wrong in {ATTEMPTS} attempts: the storm proves nothing")


@contextmanager
def open_transaction(server: Any) -> Iterator[Any]:
    """A transaction that has changed a table and does not end."""
    with closing(server.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("INSERT INTO t VALUES (7)")
        yield cursor


@pytest.mark.twin
@pytest.mark.parametrize("server", ["gtids", "locks", "my57"], indirect=True)
def test_a_transaction_that_does_not_end_delays_the_snapshot(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_checks, "_WAIT_S", 1)
    monkeypatch.setattr(table_checks, "_PAUSE_S", 0.1)
    monkeypatch.setattr(table_checks, "_ATTEMPTS", 2)
    server.run("CREATE TABLE t (a int)", "INSERT INTO t VALUES (1)")
    source = DrivenSource({**cdc_options(server, "t"), **CAPTURE, "startup.mode": "initial"})
    with open_transaction(server) as cursor:
        with pytest.raises(SourceError, match="transactions that have changed it are still open") as raised:
            source.turn()
        assert raised.value.retryable
        cursor.execute("COMMIT")
    again = DrivenSource({**cdc_options(server, "t"), **CAPTURE})
    rows = [row["a"] for _ in range(2) for batch in again.turn()[0] for row in batch.rows.to_pylist()]
    assert sorted(rows) == [1, 7]
    server.run("INSERT INTO t VALUES (8)")  # the table is not locked any more


@pytest.mark.twin
@pytest.mark.parametrize("server", ["gtids", "my57"], indirect=True)
def test_the_missing_privilege_is_named_with_its_statement(server: Any) -> None:
    server.run("CREATE TABLE t (a int)", "DROP USER IF EXISTS reader@'%'", "CREATE USER reader@'%' IDENTIFIED BY 'pw'")
    server.run("GRANT SELECT, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO reader@'%'")
    options = {**cdc_options(server, "t"), **CAPTURE, "username": "reader", "password": "pw"}
    forget()
    with pytest.raises(CaptureSetupError, match=r"GRANT LOCK TABLES ON `shop`\.\* TO this user"):
        DrivenSource(options).source.require_input()
    DrivenSource({**options, "startup.mode": "latest"}).source.require_input()  # no snapshot is read
    server.run("GRANT LOCK TABLES ON shop.* TO reader@'%'")
    forget()
    DrivenSource(options).source.require_input()


def test_an_incomplete_row_of_the_log_is_no_whole_row(server: Any) -> None:
    """A session may have another binlog_row_image than the server."""
    server.run("CREATE TABLE t (a int, b int)", "INSERT INTO t VALUES (1, 1)")
    source = DrivenSource({**cdc_options(server, "t"), **CAPTURE})
    source.turn()
    with closing(server.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION binlog_row_image = MINIMAL")
        cursor.execute("UPDATE t SET b = 2")
    if source.source._state is not None and source.source._state.is_maria:  # it logs whole rows without a key
        batches = turns(source, 5)
        assert [row for batch in batches for row in batch.rows.to_pylist()] == [{"a": 1, "b": 1}, {"a": 1, "b": 2}]
        assert not any(batch.absent for batch in batches)
        return
    with pytest.raises(SourceError, match="does not contain the value of the column"):
        turns(source, 5)


def turns(source: DrivenSource, number: int) -> list[Batch]:
    return [batch for _ in range(number) for batch in source.turn()[0]]
