"""What a reader of the file finds after rows were added, merged and replaced, and what is refused."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve

from seatunnel_core.connector_api.sink import Sink
from seatunnel_core.connector_api.testing import commit, stage
from seatunnel_core.connector_api.testing.drive import begin, finished, place, sink_place
from seatunnel_core.connector_api.testing.killing import Killing, code_of
from seatunnel_core.connectors.additions import additions
from seatunnel_core.connectors.duckdb.sink import DuckDBSink
from seatunnel_core.errors import CommitError, RowError, SinkError, UsageError
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.rows.kind import RowKind
from seatunnel_core.work.committable import Committable
from tests.connectors.duckdb.duckdb_file import asked, changed, duckdb_sink, staged

COLUMNS = pa.schema([("id", pa.int64()), ("day", pa.string()), ("n", pa.int32())])
ORDERS = TableSchema(table="shop.orders", columns=COLUMNS)
N, B, A, D = RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE
MERGE: Mapping[str, Any] = {"write_mode": "merge", "merge_key": "id"}
REPLACE: Mapping[str, Any] = {"write_mode": "replace"}
Row = tuple[Any, ...]


def batch(*rows: Row, kinds: Sequence[RowKind] | None = None, schema: TableSchema = ORDERS) -> Batch:
    values = pa.RecordBatch.from_pylist(
        [dict(zip(schema.columns.names, row, strict=True)) for row in rows], schema=schema.columns
    )
    given = None if kinds is None else pa.array([int(kind) for kind in kinds], pa.int8())
    return Batch(table=schema.table, rows=values, kinds=given)


def unit(sink: DuckDBSink, number: int, *batches: Batch, epoch: int = 1) -> Committable:
    """A unit that was staged."""
    here = place(unit=number, epoch=epoch)
    writer = begin(sink, ORDERS, here)
    for each in batches:
        writer.write(each)
    return finished(writer, here)


def run(folder: Path, *units: Sequence[Batch], end: bool = True, job: str = "job", **options: Any) -> None:
    """A whole run, whose units are committed one by one."""
    sink, here = duckdb_sink(folder, **options), place(job_id=job)
    sink.prepare(sink_place(here))
    sink.apply_save_mode(sink_place(here))
    sink.create_tables((ORDERS,), sink_place(here))
    for number, batches in enumerate(units, 1):
        at = place(job_id=job, unit=number)
        writer = begin(sink, ORDERS, at)
        for each in batches:
            writer.write(each)
        commit(sink, [finished(writer, at)], here)
    if end:
        sink.complete(sink_place(here))
        sink.sweep(sink_place(here), frozenset(), final=True)
        sink.clear(sink_place(here))


def orders(folder: Path) -> list[Row]:
    return sorted(asked(folder, "SELECT * FROM orders"))


def test_rows_are_added_to_those_that_are_there(tmp_path: Path) -> None:
    run(tmp_path, [batch((1, "mo", 1))])
    run(tmp_path, [batch((1, "mo", 1))], job="again")
    assert orders(tmp_path) == [(1, "mo", 1), (1, "mo", 1)]
    assert asked(tmp_path, "SELECT count(*) FROM duckdb_schemas() WHERE schema_name = 'seatunnel'") == [(0,)]


def test_rows_that_come_beside_others_are_told(tmp_path: Path) -> None:
    """A rerun looked like a first run; where rows are merged or replaced, none is added."""
    told = ("2 rows added to the table main.orders, which had rows",)
    for job, options, expected in (("one", {}, ()), ("two", {}, told), ("three", MERGE, ()), ("four", REPLACE, ())):
        sink, here = duckdb_sink(tmp_path, **options), sink_place(place(job_id=job))
        sink.prepare(here)
        sink.apply_save_mode(here)
        sink.create_tables((ORDERS,), here)
        assert additions(sink, 2, {}) == expected
        run(tmp_path, [batch((1, "a", 1))], job=f"after {job}") if job == "one" else None


def test_a_merge_replaces_adds_and_removes_by_key(tmp_path: Path) -> None:
    run(tmp_path, [batch((1, "mo", 1), (2, "mo", 2), (3, "tu", 3))], **MERGE)
    changes = batch((1, "we", 10), (2, "mo", 2), (4, "we", 4), (9, "we", 9), kinds=[A, D, N, D])
    run(tmp_path, [changes], job="next", **MERGE)
    assert orders(tmp_path) == [(1, "we", 10), (3, "tu", 3), (4, "we", 4)]


def test_the_last_row_of_a_key_counts_in_the_order_of_the_source(tmp_path: Path) -> None:
    """Within a batch, between batches of a unit, between units of a checkpoint and between checkpoints; the names of
    the files have another order than their units."""
    run(tmp_path, [batch((1, "a", 1), (1, "b", 2)), batch((1, "c", 3))], [batch((1, "d", 4), (2, "x", 0))], **MERGE)
    assert orders(tmp_path) == [(1, "d", 4), (2, "x", 0)]
    sink, here = duckdb_sink(tmp_path, **MERGE), place(job_id="next")
    sink.prepare(sink_place(here))
    found = [unit_of(sink, number, (2, "x", number), here) for number in (9, 10, 11)]
    commit(sink, found, here)
    assert orders(tmp_path)[1] == (2, "x", 11)


def unit_of(sink: DuckDBSink, number: int, row: Row, here: Any) -> Committable:
    return stage(sink, ORDERS, [batch(row).rows], evolve(here, unit=number))


def test_a_key_that_changes_moves_the_row(tmp_path: Path) -> None:
    run(tmp_path, [batch((1, "mo", 1), (1, "mo", 1), (2, "mo", 1), kinds=[N, B, A])], **MERGE)
    assert orders(tmp_path) == [(2, "mo", 1)]


def test_columns_that_rows_lack_stay_as_they_are(tmp_path: Path) -> None:
    run(tmp_path, [batch((1, "mo", 1))], **MERGE)
    changed(tmp_path, "ALTER TABLE orders ADD COLUMN note VARCHAR DEFAULT 'none'", "UPDATE orders SET note = 'mine'")
    run(tmp_path, [batch((1, "tu", 2), (2, "tu", 3))], job="next", **MERGE)
    assert orders(tmp_path) == [(1, "tu", 2, "mine"), (2, "tu", 3, "none")]


def test_a_replace_shows_nothing_before_its_end_and_then_all(tmp_path: Path) -> None:
    run(tmp_path, [batch((1, "mo", 1), (2, "mo", 2))])
    changed(tmp_path, "CREATE VIEW mondays AS SELECT * FROM orders WHERE day = 'mo'")
    run(tmp_path, [batch((5, "mo", 5))], [batch((6, "tu", 6))], end=False, job="next", **REPLACE)
    assert orders(tmp_path) == [(1, "mo", 1), (2, "mo", 2)]
    sink, here = duckdb_sink(tmp_path, **REPLACE), place(job_id="next", epoch=2)
    sink.prepare(sink_place(here))
    for _ in range(2):  # killed before it was recorded, it is called again
        sink.complete(sink_place(here))
        assert orders(tmp_path) == [(5, "mo", 5), (6, "tu", 6)]
    assert asked(tmp_path, "SELECT id FROM mondays") == [(5,)], "what others built on the table stays"


def test_a_replace_without_rows_leaves_none(tmp_path: Path) -> None:
    run(tmp_path, [batch((1, "mo", 1))])
    run(tmp_path, job="next", **REPLACE)
    assert orders(tmp_path) == []


def test_only_partitions_with_new_rows_are_replaced(tmp_path: Path) -> None:
    run(tmp_path, [batch((1, "mo", 1), (2, "mo", 2), (3, "tu", 3), (4, None, 4))])
    run(tmp_path, [batch((7, "mo", 7), (8, None, 8))], job="next", replace_partitions=["day"], **REPLACE)
    assert orders(tmp_path) == [(3, "tu", 3), (7, "mo", 7), (8, None, 8)]


def test_a_row_without_a_key_is_refused_where_it_stands(tmp_path: Path) -> None:
    sink = duckdb_sink(tmp_path, **MERGE)
    sink.prepare(sink_place(place()))
    with pytest.raises(RowError, match=r"column 'id', row 2 of a batch of shop.orders: the value is null.*the key"):
        unit(sink, 1, batch((1, "mo", 1), (None, "mo", 2)))


def test_changes_need_a_merge(tmp_path: Path) -> None:
    for options in ({}, REPLACE):
        sink = duckdb_sink(tmp_path, **options)
        sink.prepare(sink_place(place()))
        with pytest.raises(RowError, match="set write_mode = merge"):
            unit(sink, 1, batch((1, "mo", 1), kinds=[D]))


def test_a_key_twice_from_a_query_without_order_is_refused(tmp_path: Path) -> None:
    """Tasks of a shuffle stage parts of one unit: which of two rows is the last would be chance."""
    sink = duckdb_sink(tmp_path, **MERGE)
    sink.prepare(sink_place(place()))
    parts = [unit_at(sink, f"1-{task}", batch((7, "mo", task))) for task in (1, 2)]
    body = {"tables": [part for each in parts for part in each.body["tables"]]}
    with pytest.raises(CommitError, match=r"the key id = 7 occurs twice in the result of a query"):
        commit(sink, [evolve(parts[0], body=body)], place())
    assert orders(tmp_path) == []


def unit_at(sink: DuckDBSink, attempt: str, rows: Batch) -> Committable:
    return stage(sink, ORDERS, [rows.rows], place(attempt=attempt))


def test_a_table_with_a_key_twice_is_not_merged_into(tmp_path: Path) -> None:
    run(tmp_path, [batch((1, "mo", 1), (1, "mo", 2))])
    with pytest.raises(SinkError, match="several rows with id = 1"):
        run(tmp_path, job="next", **MERGE)


def test_a_key_that_is_missing_is_refused_before_rows_move(tmp_path: Path) -> None:
    with pytest.raises(SinkError, match=r"no column 'idd'.*did you mean id\?"):
        duckdb_sink(tmp_path, write_mode="merge", merge_key="idd").check_schema(ORDERS)
    with pytest.raises(SinkError, match="have no key"):
        duckdb_sink(tmp_path, write_mode="merge").check_schema(ORDERS)
    duckdb_sink(tmp_path, write_mode="merge").check_schema(evolve(ORDERS, primary_key=("id",)))
    with pytest.raises(SinkError, match=r"'replace_partitions'.*no column 'month'"):
        duckdb_sink(tmp_path, replace_partitions="month", **REPLACE).check_schema(ORDERS)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"merge_key": "id"}, r"'merge_key': requires write_mode = merge, found append"),
        ({**MERGE, "replace_partitions": "day"}, "'replace_partitions': requires write_mode = replace"),
        ({**REPLACE, "data_save_mode": "DROP_DATA"}, "DROP_DATA acts before the first row"),
        ({**REPLACE, "schema_save_mode": "RECREATE_SCHEMA"}, "RECREATE_SCHEMA acts before the first row"),
        ({"path": "/data/[a]/x.duckdb"}, "pattern"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said):
        duckdb_sink(tmp_path, **options)


def test_a_file_that_somebody_writes_is_waited_for(tmp_path: Path) -> None:
    hold = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"
    other = subprocess.Popen(
        [sys.executable, "-c", hold, str(tmp_path / "shop.duckdb")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert other.stdout is not None
    assert other.stdout.readline() == b"held\n"
    with pytest.raises(SinkError, match=r"another process has .*shop.duckdb open") as caught:
        duckdb_sink(tmp_path, lock_timeout=0).prepare(sink_place(place()))
    assert caught.value.retryable
    other.communicate()
    duckdb_sink(tmp_path, lock_timeout=0).prepare(sink_place(place()))


def test_what_a_task_staged_goes_when_it_is_taken_in(tmp_path: Path) -> None:
    run(tmp_path, [batch((1, "mo", 1))], end=False)
    assert staged(tmp_path) == 0


@pytest.mark.torture
@pytest.mark.timeout(300)
def test_a_replace_that_is_killed_between_any_two_lines_shows_the_old_or_the_new_rows(tmp_path: Path) -> None:
    old, new = [(1, "mo", 1)], [(2, "mo", 2), (3, "tu", 3)]
    moment, here, later = 1, sink_place(place(job_id="next")), sink_place(place(job_id="next", epoch=2))
    places: set[str] = set()
    while True:
        folder = tmp_path / str(moment)
        run(folder, [batch(*old)])
        run(folder, [batch(*new)], end=False, job="next", **REPLACE)
        with Killing(code_of(DuckDBSink, Sink), moment) as killing:
            duckdb_sink(folder, **REPLACE).complete(here)
        assert orders(folder) in (old, new), killing.place
        again = duckdb_sink(folder, **REPLACE)
        again.prepare(later)
        again.complete(later)
        assert orders(folder) == new, killing.place
        if killing.place is None:
            break
        places.add(killing.place)
        moment += 40
    assert len(places) >= 2
