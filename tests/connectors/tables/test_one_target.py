"""Several tables of one source and one target: the changes of a key apply in the order of the log."""

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve

from seatunnel_core.connector_api.sink import Sink
from seatunnel_core.connector_api.testing.drive import commit, finished, place, shipped, sink_place
from seatunnel_core.connector_api.within_extent import writer_of
from seatunnel_core.connectors.jdbc.databases import windows
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.jdbc.writer import JdbcWriter
from seatunnel_core.connectors.tables.file_writer import TableFileWriter
from seatunnel_core.errors import CommitError, SinkError
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.rows.kind import RowKind
from seatunnel_core.work.committable import Committable
from tests.connectors.duckdb.duckdb_file import asked, changed, duckdb_sink
from tests.connectors.jdbc.databases import empty
from tests.connectors.jdbc.sink_units import AFTER, BEFORE, GONE, NEW, batch
from tests.shared import SERVERS

FEW = pa.schema([("id", pa.int64()), ("a", pa.string())])
MORE = pa.schema([*FEW, ("b", pa.string())])
A = TableSchema(table="shop.a", columns=FEW, primary_key=("id",))
SAME, WIDE = evolve(A, table="shop.archive"), evolve(A, table="shop.wide", columns=MORE)
SWAPPED = evolve(SAME, columns=pa.schema([MORE.field("a"), MORE.field("id")]))

Held = dict[int, tuple[str, str | None, str | None]]
"""Table and values of each row, by its key."""

FOUND = "SELECT id, a, b FROM orders ORDER BY id"
JDBC: Mapping[str, Mapping[str, Any]] = {
    "direct": {"generate_sink_sql": True, "primary_keys": ["id"]},
    "exact": {"generate_sink_sql": True, "primary_keys": ["id"], "is_exactly_once": True},
    "merge": {"write_mode": "merge", "merge_key": "id"},
    "errors": {"generate_sink_sql": True, "primary_keys": ["id"], "is_exactly_once": True, "enable_upsert": False},
    "direct errors": {"generate_sink_sql": True, "primary_keys": ["id"], "enable_upsert": False},
}
CREATED = (
    "CREATE TABLE orders (id bigint PRIMARY KEY, a varchar(20), b varchar(20))",
    "INSERT INTO orders VALUES (1, 'one', NULL)",
)
EACH = [
    pytest.param((kind.values[0], mode), marks=kind.marks, id=f"{kind.values[0]}-{mode}")
    for kind in (pytest.param("sqlite"), *SERVERS)
    for mode in JDBC
]


def row(schema: TableSchema, kind: RowKind, key: int, a: str | None = None, b: str | None = None) -> Batch:
    """A batch of one row."""
    values = {"id": key, "a": a, "b": b}
    return batch((kind, *(values[name] for name in schema.columns.names)), schema=schema)


def staged(sink: Sink, batches: Sequence[Batch], **where: Any) -> Committable:
    """A unit of several tables, in the order of the log."""
    here = place(**where)
    schemas = [
        TableSchema(table=table, columns=columns, primary_key=("id",))
        for table, columns in {each.table: each.rows.schema for each in batches}.items()
    ]
    sink.create_tables(schemas, sink_place(here))
    writer = writer_of(shipped(sink), schemas, here)
    for each in batches:
        writer.write(each)
    return finished(writer, here)


def written(sink: Sink, *units: Sequence[Batch], epoch: int = 1) -> None:
    """Units that are committed in one checkpoint."""
    here = place(epoch=epoch)
    sink.prepare(sink_place(here))
    commit(sink, [staged(sink, unit, unit=number, epoch=epoch) for number, unit in enumerate(units, 1)], here)


@pytest.fixture(params=["duckdb", *EACH])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Sink, Any]]:
    """A sink into a table with the row 1, and a function that returns the rows of the table."""
    if request.param == "duckdb":
        changed(tmp_path, *CREATED)
        yield duckdb_sink(tmp_path, write_mode="merge", merge_key="id"), lambda: asked(tmp_path, FOUND)
        return
    kind, mode = request.param
    database = empty(kind, tmp_path)
    database.run(*CREATED)
    yield database.sink(table="orders", **JDBC[mode]), lambda: list(map(tuple, database.run(FOUND)))
    forget()


@pytest.mark.parametrize("archive", [SAME, SWAPPED, WIDE], ids=["same", "swapped", "wide"])
def test_a_row_that_moves_between_tables_stays(target: Any, archive: TableSchema) -> None:
    """It was deleted: the tables were applied one after the other."""
    sink, found = target
    wide = archive is WIDE
    log = [row(archive, NEW, 9, "nine", "IX"), row(A, GONE, 1, "one"), row(archive, NEW, 1, "one", "I")]
    written(sink, log)
    assert found() == [(1, "one", "I" if wide else None), (9, "nine", "IX" if wide else None)]
    written(sink, [row(archive, GONE, 9), row(A, NEW, 9, "back"), row(archive, GONE, 1)], epoch=2)
    assert found() == [(9, "back", None)]


def test_a_row_that_moves_back_and_forth_has_its_last_values(target: Any) -> None:
    sink, found = target
    log = [row(A, GONE, 1), row(WIDE, NEW, 1, "x", "X"), row(WIDE, GONE, 1), row(A, NEW, 1, "y")]
    written(sink, [*log, row(A, BEFORE, 1, "y"), row(A, AFTER, 1, "z"), row(WIDE, NEW, 2, "two", "II")])
    assert found() == [(1, "z", None), (2, "two", "II")]


def test_a_change_with_fewer_columns_keeps_the_others(target: Any) -> None:
    """Without upserts, a changed row is deleted and inserted."""
    sink, found = target
    written(sink, [row(WIDE, NEW, 2, "two", "II"), row(A, AFTER, 2, "zwei"), row(A, AFTER, 1, "eins")])
    assert found() == [(1, "eins", None), (2, "zwei", "II" if upserts(sink) else None)]


def upserts(sink: Any) -> bool:
    return sink.identifier == "DuckDB" or bool(sink.options["enable_upsert"])


def partial(kind: RowKind, key: int, a: str) -> Batch:
    """A row whose value of b did not arrive."""
    return evolve(row(WIDE, kind, key, a), absent={"b": pa.array([True])})


def test_a_value_that_did_not_arrive_is_that_of_the_other_table(target: Any) -> None:
    sink, found = target
    if upserts(sink):
        log = [row(WIDE, NEW, 2, "x", "X"), row(A, AFTER, 2, "y"), partial(AFTER, 2, "z"), partial(AFTER, 1, "eins")]
        written(sink, log)
        assert found() == [(1, "eins", None), (2, "z", "X")]


def test_a_value_that_did_not_arrive_with_a_changed_key(target: Any) -> None:
    """Of a row that is moved in another round, its value would be unknown."""
    sink, found = target
    moved = [partial(BEFORE, 1, "one"), partial(AFTER, 5, "five")]
    with pytest.raises(CommitError, match="id = 5 gets this key from an update whose rows are incomplete"):
        written(sink, [row(A, NEW, 5, "x"), row(A, GONE, 5), *moved])
    assert found() == [(1, "one", None)]
    written(sink, [row(A, NEW, 9, "x"), row(A, GONE, 9), *moved, row(WIDE, NEW, 9, "nine", "IX")], epoch=2)
    assert found() == [(5, "five", None), (9, "nine", "IX")]


def test_rows_that_an_earlier_version_staged_without_their_order(target: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each table had its own numbers. Without a key in two tables, the order is no matter."""
    sink, found = target
    for writer, name in ((TableFileWriter, "_rows"), (JdbcWriter, "_arrived")):
        monkeypatch.setattr(writer, name, property(lambda of: 0, lambda of, rows: None), raising=False)
    written(sink, [row(WIDE, NEW, 9, "nine", "IX"), row(A, GONE, 1)])
    assert found() == [(9, "nine", "IX")]
    with pytest.raises(CommitError, match=r"the key id = 9 of .*orders occurs in the rows of several tables, which"):
        written(sink, [row(WIDE, GONE, 9), row(A, NEW, 9, "nine")], epoch=2)
    assert found() == [(9, "nine", "IX")]


@pytest.mark.parametrize("exact", [True, False])
def test_no_two_rows_have_the_same_key_where_it_is_null(tmp_path: Path, exact: bool) -> None:
    database = empty("sqlite", tmp_path)
    database.run("CREATE TABLE orders (id int UNIQUE, a varchar(20), b varchar(20))")
    sink = database.sink(table="orders", generate_sink_sql=True, primary_keys=["id"], is_exactly_once=exact)
    nulls = [evolve(row(of, NEW, 0, a), rows=without_key(a, of)) for a, of in (("u", A), ("v", WIDE), ("w", A))]
    written(sink, [*nulls, row(A, NEW, 1, "x"), row(WIDE, AFTER, 1, "y", "Y")])
    assert sorted(a for _, a, _ in database.run(FOUND)) == ["u", "v", "w", "y"]


def without_key(a: str, of: TableSchema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"id": None, "a": a}], of.columns)


def test_a_server_without_window_functions_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = empty("sqlite", tmp_path)
    database.run(*CREATED)
    sink = database.sink(table="orders", **JDBC["exact"])
    address = sink._dialect.address
    monkeypatch.setattr(windows, "_without", {(address.host, address.port): "5.7.22"})
    written(sink, [row(WIDE, NEW, 9, "nine", "IX"), row(A, GONE, 1)])
    assert database.run(FOUND) == [(9, "nine", "IX")]
    with pytest.raises(SinkError, match="use MySQL 8, or a target for each table"):
        written(sink, [row(WIDE, GONE, 9), row(A, NEW, 9, "nine")], epoch=2)


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
def test_versions_of_a_row_that_moves_between_tables(tmp_path: Path, kind: str) -> None:
    more = {"write_mode": "merge", "merge_key": "id", "keep_history": True, "table": "versions"}
    database = None if kind == "duckdb" else empty(kind, tmp_path)
    sink = duckdb_sink(tmp_path, **more) if database is None else database.sink(**more)
    written(sink, [row(SWAPPED, NEW, 1, "x")])
    written(sink, [row(SWAPPED, GONE, 1), row(A, NEW, 1, "y"), row(SWAPPED, NEW, 2, "two")], epoch=2)
    asking = "SELECT id, a, is_current FROM versions ORDER BY id, a"
    rows = asked(tmp_path, asking) if database is None else database.run(asking)
    assert [tuple(each) for each in rows] == [(1, "x", 0), (1, "y", 1), (2, "two", 1)]


def test_a_random_log_gives_what_it_gave_at_the_source(target: Any) -> None:
    sink, found = target
    rng = random.Random(7)
    held: Held = {1: ("a", "one", None)}
    for epoch in range(1, 5):
        units: list[list[Batch]] = [[] for _ in range(3)]
        for unit in units:
            for _ in range(rng.randrange(12)):
                unit += changes(rng, held)
        written(sink, *units, epoch=epoch)
        assert found() == [(key, a, b) for key, (_, a, b) in sorted(held.items())]


def changes(rng: random.Random, held: Held) -> Iterator[Batch]:
    """A row is changed, removed, or moved to another table or key."""
    tables, key, value = {"a": A, "same": SAME, "wide": WIDE}, rng.randrange(6), str(rng.randrange(1000))
    old = held.pop(key, None)
    if old is not None and rng.random() < 0.4:
        held[key] = (old[0], value, value if old[0] == "wide" else None)
        yield row(tables[old[0]], BEFORE, key, *old[1:])
        yield row(tables[old[0]], AFTER, key, value, value)
        return
    if old is not None:
        yield row(tables[old[0]], GONE, key, *old[1:])
    if old is None or rng.random() < 0.7:
        table = rng.choice(list(tables))
        held[key] = (table, value, value if table == "wide" else None)
        yield row(tables[table], NEW, key, value, value)


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
def test_one_target_has_one_key(tmp_path: Path, kind: str) -> None:
    """Rows were merged by the key of the table that came first, so that some were lost."""
    if kind == "duckdb":
        sinks: list[Sink] = [duckdb_sink(tmp_path, write_mode="merge")]
    else:
        database = empty(kind, tmp_path)
        modes: list[dict[str, Any]] = [{"write_mode": "merge"}, {"generate_sink_sql": True}]
        sinks = [database.sink(table="orders", **mode) for mode in modes]
    for sink in sinks:
        sink.prepare(sink_place(place()))
        other = evolve(SAME, primary_key=("id", "a"))
        with pytest.raises(SinkError, match=r"some by the key \(id\) and some by the key \(id, a\)"):
            sink.create_tables((A, other), sink_place(place()))
        sink.create_tables((A, evolve(A, primary_key=("id", "a"))), sink_place(place()))


def test_one_target_is_merged_by_a_key_or_by_whole_rows(tmp_path: Path) -> None:
    sink = duckdb_sink(tmp_path, write_mode="merge", match_whole_rows=True)
    sink.prepare(sink_place(place()))
    with pytest.raises(SinkError, match=r"some by all columns and some by the key \(id\)"):
        sink.create_tables((evolve(SAME, primary_key=()), A), sink_place(place()))
