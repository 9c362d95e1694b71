"""``write_mode = replace`` of the sink ``Iceberg``: what readers of a table see while its rows are replaced."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve
from pyiceberg.catalog import load_catalog

from seatunnel_core.connector_api.capabilities import can_roll_back
from seatunnel_core.connector_api.sink import Sink, WriterContext
from seatunnel_core.connector_api.testing import commit, stage
from seatunnel_core.connector_api.testing.drive import begin, place, sink_place
from seatunnel_core.connector_api.testing.killing import Killing, code_of
from seatunnel_core.connectors.iceberg.sink import IcebergSink
from seatunnel_core.errors import CommitError, RowError, SinkError, UsageError
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.rows.kind import RowKind
from tests.connectors.iceberg.iceberg_tables import catalog_of, orders_sink, table_in
from tests.connectors.iceberg.test_iceberg_table import interrupted

ORDERS = TableSchema(table="orders", columns=pa.schema([("id", pa.int64()), ("day", pa.string())]))
REPLACE: Mapping[str, Any] = {"write_mode": "replace"}
BY_DAY: Mapping[str, Any] = {"iceberg.table.partition-keys": "day, bucket(id, 2)"}
Row = tuple[Any, ...]


def rows(*given: Row) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"id": id, "day": day} for id, day in given], schema=ORDERS.columns)


def run(folder: Path, *units: Sequence[Row], end: bool = True, job: str = "job", **options: Any) -> IcebergSink:
    """A run whose units are committed one by one."""
    sink, here = orders_sink(folder, **options), place(job_id=job)
    sink.prepare(sink_place(here))
    sink.create_tables((ORDERS,), sink_place(here))
    for number, given in enumerate(units, 1):
        commit(sink, [stage(sink, ORDERS, [rows(*given)], evolve(here, unit=number))], here)
    if end:
        finish(sink, here)
    return sink


@pytest.mark.parametrize("again", [False, True])
def test_a_table_that_is_lost_before_its_rows_are_replaced_is_an_error(tmp_path: Path, again: bool) -> None:
    """The job ended with exit code 0, and all its rows were missing."""
    sink, here = orders_sink(tmp_path, **REPLACE), place()
    sink.prepare(sink_place(here))
    done = stage(sink, ORDERS, [rows((1, "mo"))], here)
    commit(sink, [done], here)
    catalog = load_catalog("default", **catalog_of(tmp_path))
    catalog.drop_table("shop.orders")
    if again:
        catalog.create_table("shop.orders", ORDERS.columns)
    said = "is not the table to which" if again else "does not exist, but"
    with pytest.raises(SinkError, match=f"the table shop.orders {said}"):
        sink.complete(evolve(sink_place(here), published_to=done.tables))


def finish(sink: IcebergSink, here: WriterContext) -> None:
    sink.complete(sink_place(here))
    sink.sweep(sink_place(here), frozenset(), final=True)
    sink.clear(sink_place(here))


def orders(folder: Path) -> list[Row]:
    found = table_in(folder, "orders").scan().to_arrow().to_pylist()
    return sorted(((row["id"], row["day"]) for row in found), key=repr)


def branches(folder: Path) -> list[str]:
    return sorted(table_in(folder, "orders").metadata.refs)


def appended(folder: Path, *given: Row) -> None:
    """What another program adds to the table."""
    table_in(folder, "orders").append(pa.Table.from_batches([rows(*given)]))


def test_readers_see_the_old_rows_until_the_end_and_then_the_new_ones(tmp_path: Path) -> None:
    run(tmp_path, [(1, "mo"), (2, "mo")])
    run(tmp_path, [(5, "mo")], [(6, "tu")], end=False, job="next", **REPLACE)
    assert orders(tmp_path) == [(1, "mo"), (2, "mo")]
    again, here = orders_sink(tmp_path, **REPLACE), place(job_id="next", epoch=2)
    for _ in range(2):  # killed before it was recorded, the end is repeated by a process that makes ready as any other
        again.prepare(sink_place(here))
        again.create_tables((ORDERS,), sink_place(here))
        again.complete(sink_place(here))
        assert orders(tmp_path) == [(5, "mo"), (6, "tu")]
    appended(tmp_path, (7, "we"))
    finish(again, here)
    assert orders(tmp_path) == [(5, "mo"), (6, "tu"), (7, "we")], "the next writer's rows stay"
    assert branches(tmp_path) == ["main"]
    assert table_in(tmp_path, "orders").current_snapshot().summary["total-records"] == "3"


def test_a_run_without_rows_leaves_none(tmp_path: Path) -> None:
    run(tmp_path, [(1, "mo")])
    run(tmp_path, job="next", **REPLACE)
    assert orders(tmp_path) == []


def test_a_table_that_is_new_shows_its_rows_at_the_end(tmp_path: Path) -> None:
    sink = run(tmp_path, [(1, "mo")], end=False, **REPLACE)
    assert orders(tmp_path) == []
    finish(sink, place())
    assert orders(tmp_path) == [(1, "mo")]


def test_only_partitions_with_new_rows_are_replaced(tmp_path: Path) -> None:
    run(tmp_path, [(1, "mo"), (2, "mo"), (3, "tu"), (4, None)], **BY_DAY)
    run(tmp_path, [(7, "mo"), (8, None)], [(9, "mo")], job="next", replace_partitions=["day"], **REPLACE, **BY_DAY)
    assert orders(tmp_path) == [(3, "tu"), (7, "mo"), (8, None), (9, "mo")]


def test_what_is_no_partition_cannot_be_replaced(tmp_path: Path) -> None:
    by_bucket: Mapping[str, Any] = {"iceberg.table.partition-keys": "bucket(id, 2)"}
    none: Mapping[str, Any] = {}
    for keys, by in ((none, "nothing"), (by_bucket, r"id_bucket \(bucket\[2\]\)")):
        with pytest.raises(SinkError, match=f"orders is not partitioned by the values of 'id', but by {by}; choose"):
            run(tmp_path, [(1, "mo")], replace_partitions=["id"], **REPLACE, **keys)
    run(tmp_path, [(1, "mo")])
    with pytest.raises(SinkError, match="not partitioned by the values of 'id'"):
        orders_sink(tmp_path, replace_partitions=["id"], **REPLACE).dry_run((ORDERS,))


def test_rows_of_other_writers_that_come_before_the_end_are_replaced_too(tmp_path: Path) -> None:
    run(tmp_path, [(1, "mo")])
    sink = run(tmp_path, [(2, "tu")], end=False, job="next", **REPLACE)
    interrupted(sink, lambda: appended(tmp_path, (3, "we")))
    finish(sink, place(job_id="next"))
    assert orders(tmp_path) == [(2, "tu")]


def test_an_engine_that_wakes_up_does_not_replace_what_a_newer_one_still_collects(tmp_path: Path) -> None:
    """Between the requirements that pyiceberg collects, that of the branch is the second one."""
    run(tmp_path, [(1, "mo")])
    old = run(tmp_path, [(2, "tu")], end=False, job="next", **REPLACE)
    new, later = orders_sink(tmp_path, **REPLACE), place(job_id="next", epoch=2, unit=2)

    def go_on() -> None:
        commit(new, [stage(new, ORDERS, [rows((3, "we"))], later)], later)

    interrupted(old, go_on)
    with pytest.raises(CommitError, match="another engine has taken over this job: its epoch is 2"):
        old.complete(sink_place(place(job_id="next")))
    assert orders(tmp_path) == [(1, "mo")]
    finish(new, later)
    assert orders(tmp_path) == [(2, "tu"), (3, "we")]


def test_the_branch_is_required_of_catalogs_that_compare_only_what_is_asked(tmp_path: Path) -> None:
    """The catalog in SQLite compares the whole state of a table, and a REST catalog the requirements."""
    sink = run(tmp_path, [(1, "mo")], end=False, **REPLACE)
    asked: list[str] = []
    catalog = sink._catalog()
    commit_table = catalog.commit_table

    def watched(table: Any, requirements: Any, updates: Any) -> Any:
        asked.extend(each.ref for each in requirements if each.type == "assert-ref-snapshot-id")
        return commit_table(table, requirements, updates)

    catalog.commit_table = watched
    sink.complete(sink_place(place()))
    assert asked == ["main", "seatunnel-job-p1-s0"]


def test_rows_whose_branch_was_removed_are_missed(tmp_path: Path) -> None:
    run(tmp_path, [(1, "mo")])
    sink = run(tmp_path, [(2, "tu")], end=False, job="next", **REPLACE)
    table_in(tmp_path, "orders").manage_snapshots().remove_branch("seatunnel-next-p1-s0").commit()
    here, gone = (
        sink_place(place(job_id="next")),
        r"removed the branch seatunnel-next-p1-s0 .* which collected the rows",
    )
    with pytest.raises(CommitError, match=gone):
        sink.complete(here)
    with pytest.raises(CommitError, match=gone):
        sink.create_tables((ORDERS,), here)
    assert orders(tmp_path) == [(1, "mo")]


def test_another_sink_of_the_job_is_refused(tmp_path: Path) -> None:
    run(tmp_path, end=False, **REPLACE)
    other = orders_sink(tmp_path, **REPLACE)
    with pytest.raises(SinkError, match=r"another sink of this job replaces the table shop\.orders too"):
        other.create_tables((ORDERS,), sink_place(place(pipeline_id=2)))


def test_changes_and_other_modes_are_refused(tmp_path: Path) -> None:
    writer = begin(orders_sink(tmp_path, **REPLACE), ORDERS, place())
    with pytest.raises(RowError, match="updated or deleted rows"):
        writer.write(Batch(table="orders", rows=rows((1, "mo")), kinds=pa.array([int(RowKind.DELETE)], pa.int8())))
    for options, message in (
        ({**REPLACE, "data_save_mode": "DROP_DATA"}, "DROP_DATA acts before the first row"),
        ({"replace_partitions": ["day"]}, "requires write_mode = replace"),
    ):
        with pytest.raises(UsageError, match=message):
            orders_sink(tmp_path, **options)
    assert can_roll_back(orders_sink(tmp_path))
    assert not can_roll_back(orders_sink(tmp_path, **REPLACE))


def test_killed_between_any_two_lines_a_replace_shows_the_old_or_the_new_rows(tmp_path: Path) -> None:
    old, new = [(1, "mo")], [(2, "mo"), (3, "tu")]
    moment, here, later = 1, sink_place(place(job_id="next")), sink_place(place(job_id="next", epoch=2))
    places: set[str] = set()
    while True:
        folder = tmp_path / str(moment)
        folder.mkdir()
        run(folder, old)
        run(folder, new, end=False, job="next", **REPLACE)
        with Killing(code_of(IcebergSink, Sink), moment) as killing:
            orders_sink(folder, **REPLACE).complete(here)
        assert orders(folder) in (old, new), killing.place
        again = orders_sink(folder, **REPLACE)
        again.prepare(later)
        again.create_tables((ORDERS,), later)
        again.complete(later)
        assert orders(folder) == new, killing.place
        if killing.place is None:
            break
        places.add(killing.place)
        moment += 25
    assert len(places) >= 3, places
