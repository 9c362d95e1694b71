"""Change streams on each real server: absent values, and tables that change together."""

import random
import threading
from collections.abc import Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.sink import Sink
from seatunnel_core.connector_api.testing.drive import commit, place, sink_place
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.rows.kind import RowKind
from tests.connectors.jdbc.databases import Database, empty
from tests.connectors.jdbc.sink_units import stage_of, write
from tests.connectors.tables.change_log import KEY, SCHEMA, ChangedTable, batches_of
from tests.connectors.tables.test_absent_values import CASES, FIRST
from tests.shared import SERVERS

pytestmark = pytest.mark.servers

THINGS = "SELECT a, b, name, big FROM things ORDER BY a, b"


@pytest.fixture(params=SERVERS)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    yield empty(request.param, tmp_path)
    forget()


def things_sink(database: Database, exact: bool) -> Sink:
    return database.sink(table="things", primary_keys=KEY, is_exactly_once=exact, generate_sink_sql=True)


def created(database: Database) -> None:
    text = "varchar(20) COLLATE utf8mb4_bin" if database.kind == "mysql" else "varchar(20)"
    database.run(f"CREATE TABLE things (a {text}, b bigint, name text, big text NOT NULL, PRIMARY KEY (a, b))")


@pytest.mark.parametrize("exact", [True, False])
def test_values_that_did_not_arrive_stay(database: Database, exact: bool) -> None:
    created(database)
    for unit, (images, found) in enumerate(CASES.values()):
        database.run("DELETE FROM things")
        write(things_sink(database, exact), *batches_of(FIRST, repeat(9)), schema=SCHEMA, unit=2 * unit + 1)
        if all(big is not None for *_, big in found):
            write(things_sink(database, exact), *batches_of(images, repeat(2)), schema=SCHEMA, unit=2 * unit + 2)
            assert [tuple(row) for row in database.run(THINGS)] == found


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_the_target_equals_the_table_after_each_unit(database: Database, exact: bool, seed: int) -> None:
    table = ChangedTable(random.Random(seed))
    for unit in range(1, 7):
        images = table.log(table.rng.choice([5, 30, 60]))
        write(things_sink(database, exact), *batches_of(images, table.sizes()), schema=SCHEMA, unit=unit)
        assert [tuple(row) for row in database.run(THINGS)] == table.found


ACCOUNTS = [
    TableSchema(
        table=f"bank.{name}", columns=pa.schema([("id", pa.int64()), ("amount", pa.int64())]), primary_key=("id",)
    )
    for name in ("debits", "credits")
]
IN_BALANCE = "SELECT (SELECT sum(amount) FROM debits) + (SELECT sum(amount) FROM credits)"


def transfer(unit: int, schema: TableSchema, sign: int) -> Batch:
    """Rows of one table in one transaction of the source, which leaves the sum of both tables as it is."""
    ids = list(range(20))
    rows = pa.RecordBatch.from_arrays([pa.array(ids), pa.array([sign * unit] * 20)], schema=schema.columns)
    kind = RowKind.INSERT if unit == 1 else RowKind.UPDATE_AFTER
    return Batch(table=schema.table, rows=rows, kinds=pa.array([kind.value] * 20, pa.int8()))


def staged(sink: Sink, unit: int, signs: Sequence[int] = (1, -1)) -> Any:
    writer = sink.open_writer(ACCOUNTS, place(unit=unit))
    for schema, sign in zip(ACCOUNTS, signs, strict=True):
        writer.write(transfer(unit, schema, sign))
    return stage_of(writer.finish(), unit=unit)


def test_a_reader_never_sees_one_table_without_the_other(database: Database) -> None:
    """The tables of a unit, and the units of a checkpoint, are published in one transaction."""
    sink = database.sink(is_exactly_once=True, generate_sink_sql=True, table="${table_name}")
    here = sink_place(place())
    sink.prepare(here)
    sink.create_tables(ACCOUNTS, here)
    seen: list[Any] = []
    ends = threading.Event()

    def watch() -> None:
        while not ends.is_set():
            seen.append(database.run(IN_BALANCE)[0][0])

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        for checkpoint in range(12):
            commit(sink, [staged(sink, 2 * checkpoint + 1), staged(sink, 2 * checkpoint + 2)], place())
    finally:
        ends.set()
        watcher.join()
    assert set(seen) <= {None, 0}
    assert 0 in seen
    assert database.run("SELECT max(amount) FROM debits")[0][0] == 24
