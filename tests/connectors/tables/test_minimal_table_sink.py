"""``examples/minimal_table_sink``: a new database in 60 lines has what the kernel for table sinks gives it."""

import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import CommitError, SinkError
from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connector_api.testing.drive import begin, commit, finished, place, sink_place
from seatunnel_core.connectors.tables.file_sink import FileStagedTableSink
from seatunnel_core.rows.kind import RowKind

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "minimal_table_sink"
sys.path.insert(0, str(EXAMPLE))

from minimal_table_sink import Sqlite, SqliteTables  # noqa: E402
from test_minimal_table_sink import TestSqliteTables  # noqa: E402, F401 - the kit, as the page says

COLUMNS = pa.schema([("id", pa.int64()), ("name", pa.string())])
N, A, D = RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.DELETE
MERGE: dict[str, Any] = {"write_mode": "merge", "merge_key": "id"}


def started(folder: Path, job: str, schema: TableSchema, **options: Any) -> FileStagedTableSink:
    sink: FileStagedTableSink = SqliteTables(
        options_of(SqliteTables, {"path": str(folder / "shop.db"), "table": "orders", **options})
    )
    here = sink_place(place(job_id=job))
    sink.prepare(here)
    sink.apply_save_mode(here)
    sink.create_tables((schema,), here)
    return sink


def run(
    folder: Path,
    job: str,
    *units: Sequence[tuple[Any, ...]],
    kinds: Sequence[RowKind] | None = None,
    columns: pa.Schema = COLUMNS,
    **options: Any,
) -> None:
    """A whole run, whose units are committed one by one."""
    schema = TableSchema(table="t", columns=columns)
    sink = started(folder, job, schema, **options)
    for number, unit in enumerate(units, 1):
        at = place(job_id=job, unit=number)
        rows = pa.RecordBatch.from_pylist([dict(zip(columns.names, row, strict=True)) for row in unit], schema=columns)
        given = None if kinds is None else pa.array([int(kind) for kind in kinds], pa.int8())
        writer = begin(sink, schema, at)
        writer.write(Batch(table="t", rows=rows, kinds=given))
        commit(sink, [finished(writer, at)], at)
    sink.complete(sink_place(place(job_id=job)))
    sink.clear(sink_place(place(job_id=job)))


def ask(folder: Path, statement: str = "SELECT * FROM orders ORDER BY id") -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(folder / "shop.db", isolation_level=None)) as connection:
        return connection.execute(statement).fetchall()


def test_it_has_at_most_60_lines() -> None:
    lines = (EXAMPLE / "minimal_table_sink.py").read_text(encoding="utf-8").splitlines()
    assert len([line for line in lines if line.strip()]) <= 60


def test_the_last_row_of_a_key_counts_and_a_deleted_one_goes(tmp_path: Path) -> None:
    run(tmp_path, "a", [(1, "a"), (2, "b"), (3, "c"), (1, "z")], **MERGE)
    run(tmp_path, "b", [(1, "x"), (2, None), (4, "d"), (4, "e")], kinds=[A, D, N, A], **MERGE)
    assert ask(tmp_path) == [(1, "x"), (3, "c"), (4, "e")]


def test_a_merge_keeps_the_columns_that_the_rows_lack(tmp_path: Path) -> None:
    run(tmp_path, "a", [(1, "a")], **MERGE)
    ask(tmp_path, "ALTER TABLE orders ADD COLUMN note TEXT")
    ask(tmp_path, "UPDATE orders SET note = 'kept'")
    run(tmp_path, "b", [(1, "b")], **MERGE)
    assert ask(tmp_path) == [(1, "b", "kept")]


def test_the_rows_of_a_run_replace_the_former_ones_of_their_partitions(tmp_path: Path) -> None:
    run(tmp_path, "a", [(1, "a"), (2, "b"), (3, None)])
    run(tmp_path, "b", [(4, "b")], [(5, None)], write_mode="replace", replace_partitions="name")
    assert ask(tmp_path) == [(1, "a"), (4, "b"), (5, None)]
    run(tmp_path, "c", [(6, "x")], write_mode="replace")
    assert ask(tmp_path) == [(6, "x")]


def test_rows_with_absent_keys_are_deleted(tmp_path: Path) -> None:
    keys = pa.schema([("id", pa.int64())])
    run(tmp_path, "a", [(1, "a"), (2, "b"), (3, "c")])
    run(tmp_path, "b", [(1,), (3,)], columns=keys, write_mode="prune")
    assert ask(tmp_path) == [(1, "a"), (3, "c")]
    with pytest.raises(SinkError, match="would remove every row of orders"):
        run(tmp_path, "c", [(7,)], columns=keys, write_mode="prune")
    assert len(ask(tmp_path)) == 2


def test_a_table_grows_by_columns_and_rejects_a_type_that_does_not_fit(tmp_path: Path) -> None:
    run(tmp_path, "a", [(1, "a")])
    more = pa.schema([*COLUMNS, ("size", pa.float64())])
    with pytest.raises(SinkError, match=r"the table orders has no column 'size'.*schema_contract = evolve"):
        run(tmp_path, "b", [(2, "b", 0.5)], columns=more)
    run(tmp_path, "c", [(2, "b", 0.5)], columns=more, schema_contract="evolve")
    assert ask(tmp_path) == [(1, "a", None), (2, "b", 0.5)]
    wrong = pa.schema([("id", pa.string()), ("name", pa.string())])
    with pytest.raises(SinkError, match="the type string, which does not fit into INTEGER of the table orders"):
        run(tmp_path, "d", [("x", "b")], columns=wrong, schema_contract="evolve")


def test_files_with_different_types_are_loaded_with_the_types_of_the_table(tmp_path: Path) -> None:
    texts = pa.schema([("id", pa.int64()), ("name", pa.string())])
    numbers, here, waiting = pa.schema([("id", pa.int64()), ("name", pa.int64())]), place(), []
    for unit, (columns, value) in enumerate(((numbers, 7), (texts, "007")), 1):
        schema, at = TableSchema(table="t", columns=columns), place(unit=unit)
        sink = started(tmp_path, "job", schema)
        writer = begin(sink, schema, at)
        rows = pa.RecordBatch.from_pylist([{"id": unit, "name": value}], schema=columns)
        writer.write(Batch(table="t", rows=rows))
        waiting.append(finished(writer, at))
        if unit == 1:  # SQLite widens no type
            ask(tmp_path, "DROP TABLE orders")
            ask(tmp_path, "CREATE TABLE orders (id INTEGER, name TEXT)")
    commit(sink, waiting, here)
    assert ask(tmp_path) == [(1, "7"), (2, "007")]


def test_what_the_database_has_no_type_for_is_refused_before_a_row_moves(tmp_path: Path) -> None:
    with pytest.raises(SinkError, match=r"SQLite has no type for it \(timestamp"):
        run(tmp_path, "a", [], columns=pa.schema([("at", pa.timestamp("us"))]))
    with pytest.raises(SinkError, match=r"SQLite has no type for timestamp.*keep_history"):
        run(tmp_path, "a", [], keep_history=True, **MERGE)


def test_a_key_that_several_tasks_of_a_query_give_is_refused(tmp_path: Path) -> None:
    schema, here = TableSchema(table="t", columns=COLUMNS), place()
    sink = started(tmp_path, "job", schema, **MERGE)
    parts = []
    for attempt in ("1-0", "1-1"):
        writer = begin(sink, schema, place(attempt=attempt))
        writer.write(Batch(table="t", rows=pa.RecordBatch.from_pylist([{"id": 7, "name": "a"}], schema=COLUMNS)))
        parts.append(finished(writer, here))
    parts[0].body["tables"].extend(parts[1].body["tables"])
    with pytest.raises(CommitError, match="the key id = 7 occurs twice in the result of a query"):
        commit(sink, parts[:1], here)
    assert ask(tmp_path) == []


def test_the_tables_of_the_engine_are_gone_with_the_last_job_and_are_no_targets(tmp_path: Path) -> None:
    run(tmp_path, "a", [(1, "a")], **MERGE)
    assert ask(tmp_path, "SELECT name FROM sqlite_master WHERE type = 'table'") == [("orders",)]
    with pytest.raises(SinkError, match="'seatunnel_commits' is not a table name"):
        run(tmp_path, "b", [(1, "a")], table="seatunnel_commits")


@pytest.mark.parametrize(
    ("one", "other", "differs"), [(1, 1, 0), (1, 2, 1), (1, None, 1), (None, 1, 1), (None, None, 0)]
)
def test_values_differ_also_where_one_is_null(one: int | None, other: int | None, differs: int, tmp_path: Path) -> None:
    """A version of history ends where a value becomes null: ``NOT`` of an unknown condition is unknown."""
    values = ["NULL" if value is None else str(value) for value in (one, other)]
    written = Sqlite(str(tmp_path / "shop.db")).differ(*values)
    assert ask(tmp_path, f"SELECT coalesce({written}, 0)") == [(differs,)]


def test_merged_rows_with_child_tables_are_rejected_before_anything_is_staged(tmp_path: Path) -> None:
    """The commit failed at each start, because this database does not list child tables."""
    options = options_of(SqliteTables, {"path": str(tmp_path / "shop.db"), "table": "${table_name}", **MERGE})
    child = TableSchema(table="orders__items", columns=COLUMNS, root="orders")
    with pytest.raises(SinkError, match="cannot replace child rows together with their parents"):
        SqliteTables(options).check_schema(child)
