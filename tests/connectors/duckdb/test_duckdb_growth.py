"""Tables of DuckDB that grow with the rows of a later job."""

import logging
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.testing import commit, stage
from seatunnel_core.connector_api.testing.drive import finished, place, sink_place
from seatunnel_core.connector_api.testing.killing import Killing
from seatunnel_core.connectors.tables import column_growth
from seatunnel_core.errors import RowError, SinkError
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.rows.inference.shape import Shape
from tests.connectors.duckdb.duckdb_file import asked, changed, duckdb_sink

EVOLVE: dict[str, Any] = {"schema_contract": "evolve"}
MERGE: dict[str, Any] = {"write_mode": "merge", "merge_key": "id"}
REPLACE: dict[str, Any] = {"write_mode": "replace"}


def run(folder: Path, job: str, options: dict[str, Any], **columns: Any) -> None:
    run_rows(folder, job, options, pa.RecordBatch.from_pydict(columns))


def run_rows(folder: Path, job: str, options: dict[str, Any], rows: pa.RecordBatch) -> None:
    here = place(job_id=job)
    schema, sink = TableSchema(table="t", columns=rows.schema), duckdb_sink(folder, **options)
    sink.prepare(sink_place(here))
    sink.apply_save_mode(sink_place(here))
    commit(sink, [stage(sink, schema, [rows], here)], here)
    sink.complete(sink_place(here))


def all_rows(folder: Path, columns: str = "*") -> list[tuple[Any, ...]]:
    return list(asked(folder, f"SELECT {columns} FROM orders ORDER BY id"))


@pytest.mark.parametrize("mode", [{}, MERGE, {**MERGE, "data_save_mode": "DROP_DATA"}, REPLACE])
def test_a_new_column_is_added_and_null_in_older_rows(
    mode: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run(tmp_path, "one", {key: mode[key] for key in mode if key != "data_save_mode"}, id=[1], name=["a"])
    with caplog.at_level(logging.WARNING):
        run(tmp_path, "two", {**mode, **EVOLVE}, id=[2], name=["b"], tags=[["x"]], at=[{"lat": 1.5}])
    old = [] if "data_save_mode" in mode or mode == REPLACE else [(1, "a", None, None)]
    assert all_rows(tmp_path) == [*old, (2, "b", ["x"], {"lat": 1.5})]
    assert "the table main.orders gets the column 'tags' (VARCHAR[])" in caplog.text
    run(tmp_path, "three", {**mode, **EVOLVE}, id=[3], NAME=["c"])
    assert all_rows(tmp_path, "id, name")[-1] == (3, "c"), "a name in another case is the same column"


def test_nothing_grows_unless_it_is_asked_for(tmp_path: Path) -> None:
    run(tmp_path, "one", {}, id=[1], v=[7])
    with pytest.raises(SinkError, match=r"has no column 'age'.*have; add it, or write schema_contract = evolve"):
        run(tmp_path, "two", {"schema_contract": {"data_type": "evolve"}}, id=[2], age=[30])
    with pytest.raises(SinkError, match=r"fit into BIGINT .*, or write schema_contract = evolve to widen the column"):
        run(tmp_path, "two", {"schema_contract": {"columns": "evolve"}}, id=[2], v=["x"])
    assert all_rows(tmp_path) == [(1, 7)]


@pytest.mark.parametrize("mode", [{}, MERGE, REPLACE])
@pytest.mark.parametrize(
    ("first", "then", "declared", "found"),
    [
        (pa.array([7], pa.int32()), pa.array([2**40]), "BIGINT", [7, 2**40]),
        (pa.array([7]), pa.array([1.5]), "DOUBLE", [7.0, 1.5]),
        (pa.array([2**63 - 1]), pa.array(["x"]), "VARCHAR", [str(2**63 - 1), "x"]),
        (pa.array([0.1]), pa.array(["x"]), "VARCHAR", ["0.1", "x"]),
        (pa.array([True]), pa.array(["x"]), "VARCHAR", ["true", "x"]),
    ],
)
def test_a_column_is_widened_and_keeps_its_values(
    first: pa.Array, then: pa.Array, declared: str, found: list[Any], mode: dict[str, Any], tmp_path: Path
) -> None:
    run(tmp_path, "one", mode, id=[1], v=first)
    run(tmp_path, "two", {**mode, **EVOLVE}, id=[2], v=then)
    assert all_rows(tmp_path, "typeof(v)")[0] == (declared,)
    assert [value for _, value in all_rows(tmp_path)] == (found[1:] if mode == REPLACE else found)
    run(tmp_path, "three", {**mode, **EVOLVE}, id=[3], v=first)
    assert all_rows(tmp_path)[-1] == (3, found[0]), "what is narrower goes into what is wider"


def test_a_value_that_would_change_keeps_the_column_from_growing(tmp_path: Path) -> None:
    run(tmp_path, "one", {}, id=[1], v=[2**53 + 1])
    with pytest.raises(SinkError, match="whole numbers beyond 9007199254740992, which DOUBLE would change"):
        run(tmp_path, "two", EVOLVE, id=[2], v=[1.5], more=["m"])
    assert all_rows(tmp_path) == [(1, 2**53 + 1)], "and no column was added either"


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (
            {"id": [2], "v": [b"b"]},
            "into BIGINT of the table main.orders; convert the column before this sink$",
        ),
        ({"nr": [2]}, "has no column 'nr'"),
        ({"id": ["x"]}, "column that has a UNIQUE or PRIMARY KEY constraint"),
    ],
)
def test_what_cannot_grow_is_refused_and_nothing_changes(columns: dict[str, Any], said: str, tmp_path: Path) -> None:
    changed(tmp_path, "CREATE TABLE orders (id BIGINT PRIMARY KEY, v BIGINT)", "INSERT INTO orders VALUES (1, 7)")
    with pytest.raises(SinkError, match=said):
        run(tmp_path, "two", {**MERGE, "merge_key": next(iter(columns)), **EVOLVE}, **columns)
    assert all_rows(tmp_path) == [(1, 7)]


def test_what_an_earlier_job_has_staged_goes_into_the_table_that_has_grown(tmp_path: Path) -> None:
    here, later = place(job_id="older"), place(job_id="older", epoch=2)
    rows = pa.RecordBatch.from_pydict({"id": [1], "v": [7]})
    schema, older = TableSchema(table="t", columns=rows.schema), duckdb_sink(tmp_path)
    older.prepare(sink_place(here))
    waiting = stage(older, schema, [rows], here)
    run(tmp_path, "newer", EVOLVE, id=[2], v=["x"], more=["m"])
    again = duckdb_sink(tmp_path, **EVOLVE)
    again.prepare(sink_place(later))
    again.create_tables((schema,), sink_place(later))
    for _ in range(2):
        again.commit([waiting], sink_place(later), may_be_committed=True)
    assert all_rows(tmp_path) == [(1, "7", None), (2, "x", "m")]


@pytest.mark.torture
@pytest.mark.timeout(300)
def test_a_kill_between_any_two_lines_costs_nothing(tmp_path: Path) -> None:
    rows = pa.RecordBatch.from_pydict({"id": [2], "v": ["x"], "more": ["m"]})
    schema, moment, places = TableSchema(table="t", columns=rows.schema), 1, set[str]()
    while True:
        folder = tmp_path / str(moment)
        folder.mkdir()
        run(folder, "one", {}, id=[1], v=[7])
        here, later = place(job_id="next"), place(job_id="next", epoch=2)
        sink = duckdb_sink(folder, **EVOLVE)
        sink.prepare(sink_place(here))
        with Killing([Path(column_growth.__file__)], moment) as killing:
            sink.create_tables((schema,), sink_place(here))
        again = duckdb_sink(folder, **EVOLVE)
        again.prepare(sink_place(later))
        commit(again, [stage(again, schema, [rows], later)], later)
        assert all_rows(folder) == [(1, "7", None), (2, "x", "m")], killing.place
        if killing.place is None:
            break
        places.add(killing.place)
        moment += 3
    assert len(places) >= 4


def unknown(**columns: Any) -> Any:
    """Rows of inferred columns, as a service or JSON lines give them."""
    shape, names = Shape(), list(columns)
    rows = [dict(zip(names, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    shape.see(rows)
    return pa.RecordBatch.from_pylist(rows, schema=shape.columns())


@pytest.mark.parametrize("contract", [{}, EVOLVE])
@pytest.mark.parametrize("mode", [{}, MERGE])
def test_columns_without_a_value_change_nothing(contract: dict[str, Any], mode: dict[str, Any], tmp_path: Path) -> None:
    """A night with nothing but null in a column widened it to text, or was refused."""
    types = "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = 'orders'"
    first: dict[str, Any] = {
        "id": [1],
        "v": [5],
        "day": [date(2026, 1, 1)],
        "tags": [[1]],
        "at": [{"lat": 1.5, "lon": 2.5}],
    }
    run(tmp_path, "one", mode, **first)
    changed(tmp_path, "CREATE TYPE mood AS ENUM ('a')", "ALTER TABLE orders ADD COLUMN m mood")
    declared = asked(tmp_path, types)
    rows = unknown(id=[2], v=[None], day=[None], tags=[[]], at=[{"lat": None}], m=[None], new=[None])
    run_rows(tmp_path, "two", {**mode, **contract}, rows)
    assert asked(tmp_path, types) == declared
    at = {"lat": None, "lon": None}
    assert all_rows(tmp_path) == [(1, 5, date(2026, 1, 1), [1], first["at"][0], None), (2, None, None, [], at, None)]
    with pytest.raises(RowError, match=r"column 'new', row 1 of a batch: the column has a value, but was empty in"):
        run_rows(tmp_path, "three", {**mode, **contract}, late(rows, "new"))
    with pytest.raises(RowError, match=r"column 'v', row 1 of a batch of t: '7' does not fit into int64"):
        run_rows(tmp_path, "four", {**mode, **contract}, late(rows, "v"))


def test_a_table_that_grows_begins_without_columns_that_have_no_value(tmp_path: Path) -> None:
    run_rows(tmp_path, "one", EVOLVE, unknown(id=[1], v=[None], tags=[[]]))
    run_rows(tmp_path, "two", EVOLVE, unknown(id=[2], v=[7], tags=[[8]]))
    assert all_rows(tmp_path) == [(1, None, None), (2, 7, [8])]


def test_a_list_whose_numbers_would_change_does_not_grow(tmp_path: Path) -> None:
    run(tmp_path, "one", {}, id=[1], q=[[2**53 + 1]])
    with pytest.raises(SinkError, match=r"'q' of the table main.orders contains values that DOUBLE\[\] would change"):
        run(tmp_path, "two", EVOLVE, id=[2], q=[[1.5]])
    assert all_rows(tmp_path) == [(1, [2**53 + 1])]


def late(rows: pa.RecordBatch, name: str) -> pa.RecordBatch:
    """The rows with a value behind those that were looked at."""
    arrays = [pa.array(["7"]) if each == name else rows.column(each) for each in rows.schema.names]
    return pa.RecordBatch.from_arrays(arrays, schema=rows.schema)


@pytest.mark.parametrize("mode", [{}, MERGE])
def test_objects_and_lists_grow(mode: dict[str, Any], tmp_path: Path) -> None:
    run(tmp_path, "one", mode, id=[1], at=[{"lat": 1}], lines=[[{"sku": "a"}]], q=[[1]])
    more: dict[str, Any] = {
        "id": [2],
        "at": [{"lon": 2.5, "lat": 0.5}],
        "lines": [[{"n": 7, "sku": "b"}]],
        "q": [[1.5]],
    }
    with pytest.raises(SinkError, match=r"column 'at': .*, or write schema_contract = evolve to widen the column"):
        run(tmp_path, "two", mode, **more)
    run(tmp_path, "two", {**mode, **EVOLVE}, **more)
    run(tmp_path, "three", mode, id=[3], at=[{"lat": 4}], lines=[[{"n": 8}]], q=[[2]])
    assert all_rows(tmp_path) == [
        (1, {"lat": 1.0, "lon": None}, [{"sku": "a", "n": None}], [1.0]),
        (2, {"lat": 0.5, "lon": 2.5}, [{"sku": "b", "n": 7}], [1.5]),
        (3, {"lat": 4.0, "lon": None}, [{"sku": None, "n": 8}], [2.0]),
    ]


NARROW_AND_WIDE: list[tuple[pa.Array, pa.Array, list[Any]]] = [
    (pa.array([1], pa.int32()), pa.array([2.7]), [1.0, 2.7]),
    (pa.array([{"lat": 1}]), pa.array([{"lat": 1.5, "lon": 2.5}]), [{"lat": 1, "lon": None}, {"lat": 1.5, "lon": 2.5}]),
    (pa.array([[1]]), pa.array([[2.5]]), [[1.0], [2.5]]),
    (pa.array([0.5], pa.float32()), pa.array([0.1]), [0.5, 0.1]),
    (
        pa.array([Decimal("1.25")], pa.decimal128(10, 2)),
        pa.array([Decimal("2.1234")], pa.decimal128(12, 4)),
        [Decimal("1.25"), Decimal("2.1234")],
    ),
    (
        pa.array([date(2026, 1, 1)]),
        pa.array([datetime(2026, 1, 2, 3, 4)], pa.timestamp("us")),
        [datetime(2026, 1, 1), datetime(2026, 1, 2, 3, 4)],
    ),
    (pa.array([7]), pa.array(["x"]), ["7", "x"]),
]
"""Values of one table, wider values of another table, and both in the column that fits both."""


@pytest.mark.parametrize("mode", [{}, MERGE, REPLACE])
@pytest.mark.parametrize("together", [False, True])
def test_no_value_changes_if_a_later_table_of_the_run_widens_columns(
    together: bool, mode: dict[str, Any], tmp_path: Path
) -> None:
    """Files of both types are committed together, and one unit may have rows of both tables."""
    columns = [
        {"id": [number], **{f"v{at}": pair[number] for at, pair in enumerate(NARROW_AND_WIDE)}} for number in (0, 1)
    ]
    tables = [
        Batch(table=name, rows=pa.RecordBatch.from_pydict(each)) for name, each in zip("ab", columns, strict=True)
    ]
    schemas = [TableSchema(table=each.table, columns=each.rows.schema) for each in tables]
    here, sink, waiting = place(), duckdb_sink(tmp_path, **mode, **EVOLVE), []
    sink.prepare(sink_place(here))
    if together:
        sink.create_tables(schemas, sink_place(here))
        writer = sink.open_writer(schemas, here)
        for each in tables:
            writer.write(each)
        waiting.append(finished(writer, here))
    for unit, (schema, each) in enumerate(zip(schemas, tables, strict=True), 1) if not together else ():
        waiting.append(stage(sink, schema, [each.rows], place(unit=unit)))
    commit(sink, waiting, here)
    sink.complete(sink_place(here))
    assert list(zip(*all_rows(tmp_path), strict=True))[1:] == [tuple(found) for *_, found in NARROW_AND_WIDE]


def test_rows_of_files_with_different_types_keep_their_order(tmp_path: Path) -> None:
    here, sink, waiting = place(), duckdb_sink(tmp_path, **MERGE, **EVOLVE), []
    sink.prepare(sink_place(here))
    staged: list[tuple[str, list[float]]] = [("a", [1, 2]), ("b", [1.5, 2.5]), ("a", [7])]
    for unit, (table, values) in enumerate(staged, 1):
        rows = pa.RecordBatch.from_pydict({"id": list(range(len(values))), "v": values})
        waiting.append(stage(sink, TableSchema(table=table, columns=rows.schema), [rows], place(unit=unit)))
    commit(sink, waiting, here)
    assert all_rows(tmp_path) == [(0, 7.0), (1, 2.5)]


def test_rows_that_are_collected_get_the_columns_of_a_later_table(tmp_path: Path) -> None:
    here, sink, waiting = place(), duckdb_sink(tmp_path, **REPLACE, **EVOLVE), []
    sink.prepare(sink_place(here))
    for unit, columns in enumerate(({"id": [1], "v": [7]}, {"id": [2], "v": [2.7], "city": ["x"]}, {"id": [3]}), 1):
        rows = pa.RecordBatch.from_pydict(columns)
        waiting.append(stage(sink, TableSchema(table=f"t{unit}", columns=rows.schema), [rows], place(unit=unit)))
        commit(sink, waiting[-1:], here)
    sink.complete(sink_place(here))
    assert all_rows(tmp_path) == [(1, 7.0, None), (2, 2.7, "x"), (3, None, None)]


def test_collected_rows_that_a_wider_type_would_change_are_reported(tmp_path: Path) -> None:
    here, sink = place(), duckdb_sink(tmp_path, **REPLACE, **EVOLVE)
    sink.prepare(sink_place(here))
    rows = pa.RecordBatch.from_pydict({"id": [1], "v": [2**53 + 1]})
    commit(sink, [stage(sink, TableSchema(table="a", columns=rows.schema), [rows], here)], here)
    wide = pa.schema([("id", pa.int64()), ("v", pa.float64())])
    with pytest.raises(SinkError, match="whole numbers beyond 9007199254740992, which DOUBLE would change"):
        sink.create_tables((TableSchema(table="b", columns=wide),), sink_place(here))
    sink.complete(sink_place(here))
    assert all_rows(tmp_path) == [(1, 2**53 + 1)]
