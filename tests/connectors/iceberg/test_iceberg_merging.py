"""``write_mode = merge`` of the sink ``Iceberg``: the last row of each key, in the order of the source."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as some
from pyiceberg.catalog import load_catalog
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, LongType, NestedField, StringType

from seatunnel_core.connector_api.testing import SinkConformance, commit
from seatunnel_core.connector_api.testing.drive import begin, finished, place, sink_place
from seatunnel_core.connectors.iceberg.columns import iceberg_schema
from seatunnel_core.connectors.iceberg.sink import IcebergSink
from seatunnel_core.errors import CommitError, RowError, SinkError, UsageError
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.rows.kind import RowKind
from seatunnel_core.work.committable import Committable
from tests.connectors.iceberg.iceberg_reading import visible_rows
from tests.connectors.iceberg.iceberg_tables import catalog_of, orders_sink, shop_in, table_in
from tests.connectors.iceberg.test_iceberg_table import interrupted

COLUMNS = pa.schema([("id", pa.int64()), ("day", pa.string()), ("n", pa.int32())])
ORDERS = TableSchema(table="orders", columns=COLUMNS)
N, B, A, D = RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE
MERGE: Mapping[str, Any] = {"write_mode": "merge", "merge_key": "id"}
BY_DAY: Mapping[str, Any] = {"write_mode": "merge", "merge_key": "id,day", "iceberg.table.partition-keys": "day"}
Row = tuple[Any, ...]


def batch(*rows: Row, kinds: Sequence[RowKind] | None = None, schema: TableSchema = ORDERS) -> Batch:
    values = pa.RecordBatch.from_pylist(
        [dict(zip(schema.columns.names, row, strict=True)) for row in rows], schema=schema.columns
    )
    kinds_ = None if kinds is None else pa.array([int(kind) for kind in kinds], pa.int8())
    return Batch(table=schema.table, rows=values, kinds=kinds_)


def unit(sink: IcebergSink, number: int, *batches: Batch, schema: TableSchema = ORDERS, **where: Any) -> Committable:
    """A unit that was staged."""
    here = place(unit=number, **where)
    writer = begin(sink, schema, here)
    for each in batches:
        writer.write(each)
    return finished(writer, here)


def run(folder: Path, *units: Sequence[Batch], job: str = "job", schema: TableSchema = ORDERS, **options: Any) -> None:
    """A run with one checkpoint."""
    sink, here = orders_sink(folder, **options), place(job_id=job)
    sink.prepare(sink_place(here))
    sink.apply_save_mode(sink_place(here))
    sink.create_tables((schema,), sink_place(here))
    found = [unit(sink, number, *batches, schema=schema, job_id=job) for number, batches in enumerate(units, 1)]
    commit(sink, found, here)
    sink.sweep(sink_place(here), frozenset(), final=True)
    sink.clear(sink_place(here))


def orders(folder: Path) -> list[Row]:
    return sorted(tuple(row.values()) for row in visible_rows(table_in(folder, "orders")))


class TestIcebergMerging(SinkConformance):
    kills = 2  # each job commits nine times
    sink_class = IcebergSink

    @pytest.fixture(autouse=True)
    def target(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def emptying(self) -> Mapping[str, Any]:
        return {**self.options(), "data_save_mode": "DROP_DATA"}

    def elsewhere(self) -> Mapping[str, Any]:
        return {**self.options(), "table": "others"}

    def options(self) -> Mapping[str, Any]:
        return {"iceberg.catalog.config": catalog_of(self.folder), "namespace": "shop", "table": "orders", **MERGE}

    def visible(self) -> Sequence[Mapping[str, Any]]:
        table = self.table()
        return visible_rows(table) if table.current_snapshot() is not None else []

    def lose_table(self) -> bool:
        load_catalog("default", **catalog_of(self.folder)).drop_table("shop.orders")
        return True

    def table(self) -> Any:
        return table_in(self.folder, "orders")

    def staged(self) -> int:
        table = self.table()
        manifests = [manifest for snapshot in table.snapshots() for manifest in snapshot.manifests(table.io)]
        entries = [entry for manifest in manifests for entry in manifest.fetch_manifest_entry(table.io)]
        named = {Path(entry.data_file.file_path).name for entry in entries}
        return sum(path.name not in named for path in self.folder.rglob("data/**/*.parquet"))


def test_a_merge_replaces_adds_and_removes_by_key(tmp_path: Path) -> None:
    run(tmp_path, [batch((1, "mo", 1), (2, "mo", 2), (3, "tu", 3))], **MERGE)
    changes = batch((1, "we", 10), (2, "mo", 2), (4, "we", 4), (9, "we", 9), kinds=[A, D, N, D])
    run(tmp_path, [changes], job="next", **MERGE)
    assert orders(tmp_path) == [(1, "we", 10), (3, "tu", 3), (4, "we", 4)]


def test_the_last_row_of_a_key_counts_in_the_order_of_the_source(tmp_path: Path) -> None:
    """Within a batch, between batches of a unit, and between units of a checkpoint."""
    first = [batch((1, "a", 1), (1, "b", 2), (3, "c", 1)), batch((1, "c", 3)), batch((3, "c", 1), kinds=[D])]
    run(tmp_path, first, [batch((1, "d", 4), (2, "x", 0))], [batch((2, "y", 1))], **MERGE)
    assert orders(tmp_path) == [(1, "d", 4), (2, "y", 1)]
    assert len(table_in(tmp_path, "orders").metadata.metadata_log) == 1, "all units are one commit"


def test_keys_are_found_in_their_partitions_only(tmp_path: Path) -> None:
    run(tmp_path, [batch((1, "mo", 1), (1, "tu", 2), (2, "mo", 3))], **BY_DAY)
    run(tmp_path, [batch((1, "tu", 9), (2, "mo", 0), kinds=[A, D]), batch((1, "tu", 10))], job="next", **BY_DAY)
    assert orders(tmp_path) == [(1, "mo", 1), (1, "tu", 10)]


def test_files_that_were_closed_between_keep_their_places(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("seatunnel_core.connectors.iceberg.writer.OPEN_FILES", 1)
    days = [batch((1, day, number)) for number, day in enumerate(("mo", "tu", "mo", "we", "mo", "tu"))]
    run(tmp_path, days, **BY_DAY)
    assert orders(tmp_path) == [(1, "mo", 4), (1, "tu", 5), (1, "we", 3)]


@settings(max_examples=6, deadline=None)
@given(
    some.lists(some.lists(some.lists(some.tuples(some.integers(0, 4), some.sampled_from((N, A, B, D))), max_size=5)))
)
def test_any_changes_leave_the_last_row_of_each_key(tmp_path_factory: Any, changes: Any) -> None:
    folder, number = tmp_path_factory.mktemp("shop"), 0
    kept: dict[int, int] = {}
    units = []
    for batches in changes:
        made = []
        for each in batches:
            rows = []
            for key, kind in each:
                number += 1
                rows.append((key, "d", number))
                kept.pop(key, None)
                if kind in (N, A):
                    kept[key] = number
            made.append(batch(*rows, kinds=[kind for _, kind in each]))
        units.append(made)
    run(folder, *units, **MERGE)
    table = table_in(folder, "orders")
    found = orders(folder) if table.current_snapshot() is not None else []
    assert found == sorted((key, "d", value) for key, value in kept.items())


def test_a_commit_that_is_repeated_changes_nothing(tmp_path: Path) -> None:
    sink = orders_sink(tmp_path, **MERGE)
    found = [unit(sink, number, batch((1, "mo", number))) for number in (1, 2)]
    commit(sink, found, place())
    commit(orders_sink(tmp_path, **MERGE), found, place(epoch=2), may_be_committed=True)
    assert orders(tmp_path) == [(1, "mo", 2)]
    assert len(table_in(tmp_path, "orders").snapshots()) == 2


def test_rows_that_another_writer_adds_between_are_merged_into(tmp_path: Path) -> None:
    run(tmp_path, [batch((1, "mo", 1))], **MERGE)
    sink = orders_sink(tmp_path, **MERGE)
    found = unit(sink, 1, batch((7, "tu", 2)), job_id="next")
    interrupted(sink, lambda: table_in(tmp_path, "orders").append(pa.Table.from_batches([batch((7, "mo", 0)).rows])))
    commit(sink, [found], place(job_id="next"))
    assert orders(tmp_path) == [(1, "mo", 1), (7, "tu", 2)]


def test_a_replace_leaves_no_file_of_deleted_rows(tmp_path: Path) -> None:
    run(tmp_path, [batch((1, "mo", 1), (1, "tu", 2))], [batch((1, "we", 3))], **MERGE)
    sink, here = orders_sink(tmp_path, write_mode="replace"), place(job_id="next")
    commit(sink, [unit(sink, 1, batch((5, "mo", 5)), job_id="next")], here)
    sink.complete(sink_place(here))
    table = table_in(tmp_path, "orders")
    assert table.scan().to_arrow().to_pylist() == [{"id": 5, "day": "mo", "n": 5}], "pyiceberg reads it again"
    summary = table.current_snapshot().summary
    assert [summary[f"total-{each}"] for each in ("records", "delete-files", "equality-deletes")] == ["1", "0", "0"]


KEYS: Mapping[str, tuple[pa.DataType, Any, Any]] = {
    "long": (pa.int64(), -(2**63), 2**63 - 1),
    "decimal": (pa.decimal128(38, 18), Decimal("-99999999999999999999.999999999999999999"), Decimal("1e-18")),
    "string": (pa.string(), "", "\U0010ffff é"),
    "binary": (pa.binary(), b"", b"\x00\xff"),
    "date": (pa.date32(), date(1, 1, 1), date(9999, 12, 31)),
    "time": (pa.time64("us"), time(0), time(23, 59, 59, 999999)),
    "timestamp": (pa.timestamp("us"), datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)),
    "timestamptz": (pa.timestamp("us", "UTC"), datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)),
    "boolean": (pa.bool_(), False, True),
    "int": (pa.int32(), -(2**31), 2**31 - 1),
}


def test_keys_of_every_type_are_found_at_their_extremes(tmp_path: Path) -> None:
    columns = pa.schema([pa.field(name, kind) for name, (kind, _, _) in KEYS.items()] + [pa.field("n", pa.int32())])
    schema = TableSchema(table="orders", columns=columns)
    least, most = ([values[at] for values in KEYS.values()] for at in (1, 2))
    options: Mapping[str, Any] = {"write_mode": "merge", "merge_key": list(KEYS)}
    run(tmp_path, [batch((*least, 1), (*most, 2), schema=schema)], schema=schema, **options)
    run(tmp_path, [batch((*least, 3), (*most, 4), kinds=[A, D], schema=schema)], job="n", schema=schema, **options)
    assert [list(row.values()) for row in visible_rows(table_in(tmp_path, "orders"))] == [[*least, 3]]


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_a_row_without_a_key_is_refused_where_it_stands(tmp_path: Path) -> None:
    with pytest.raises(RowError, match=r"column 'id', row 2 of a batch of orders: the value is null.*the key"):
        unit(orders_sink(tmp_path, **MERGE), 1, batch((1, "mo", 1), (None, "mo", 2)))


def test_a_key_twice_from_a_query_without_order_is_refused(tmp_path: Path) -> None:
    sink = orders_sink(tmp_path, **MERGE)
    parts = [unit(sink, 1, batch((7, "mo", task), (task, "mo", 0)), attempt=f"1-{task}") for task in (1, 2)]
    body = {"tables": [part for each in parts for part in each.body["tables"]]}
    with pytest.raises(CommitError, match=r"the key id = 7 occurs twice in the result of a query"):
        commit(sink, [evolve(parts[0], body=body)], place())
    assert table_in(tmp_path, "orders").current_snapshot() is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {**MERGE, "iceberg.table.partition-keys": "day"},
            r"partitioned by 'day', and 'day' is not part of the key \(id\)",
        ),
        ({**MERGE, "iceberg.table.auto-create-props": {"format-version": "1"}}, "has format version 1, but"),
        ({**MERGE, "merge_key": "price"}, "column 'price' of orders is a double, which Iceberg cannot compare exactly"),
        ({"write_mode": "merge"}, "have no key to merge them by"),
    ],
)
def test_tables_that_cannot_be_merged_into_are_refused(tmp_path: Path, options: Any, message: str) -> None:
    schema = TableSchema(table="orders", columns=COLUMNS.append(pa.field("price", pa.float64())))
    with pytest.raises(SinkError, match=message):
        begin(orders_sink(tmp_path, **options), schema, place())


def test_a_column_that_rows_lack_is_not_emptied(tmp_path: Path) -> None:
    wide = TableSchema(table="orders", columns=COLUMNS.append(pa.field("note", pa.string())))
    shop_in(tmp_path).create_table("shop.orders", iceberg_schema(wide))
    with pytest.raises(SinkError, match="has the column 'note', which the rows of orders lack"):
        orders_sink(tmp_path, **MERGE).dry_run((ORDERS,))


def test_a_column_that_is_added_while_the_job_runs_is_not_emptied(tmp_path: Path) -> None:
    """A changed row lost the value that another program had written into its new column."""
    run(tmp_path, [batch((1, "mo", 1), (2, "mo", 2), (3, "mo", 3))], **MERGE)
    sink, here = orders_sink(tmp_path, **MERGE), place(job_id="next")
    changed, deleted = batch((1, "tu", 10)), batch((2, "mo", 2), kinds=[D])
    staged = [unit(sink, number, rows, job_id="next") for number, rows in ((1, changed), (2, deleted))]
    added(tmp_path, "tier")
    commit(sink, staged[1:], here)
    with pytest.raises(CommitError, match=r"shop.orders has the column 'tier', which the staged rows lack"):
        commit(sink, staged[:1], here)
    assert orders(tmp_path) == [(1, "mo", 1), (3, "mo", 3)]
    with table_in(tmp_path, "orders").update_schema(allow_incompatible_changes=True) as update:
        update.delete_column("tier")
    commit(sink, staged[:1], here, may_be_committed=True)
    assert orders(tmp_path) == [(1, "tu", 10), (3, "mo", 3)]


def test_a_column_that_is_added_between_two_tries_of_a_commit_is_not_emptied(tmp_path: Path) -> None:
    sink = orders_sink(tmp_path, **MERGE)
    staged = unit(sink, 1, batch((1, "mo", 1)))

    def fill() -> None:
        added(tmp_path, "tier")
        columns = COLUMNS.append(pa.field("tier", pa.string()))
        table_in(tmp_path, "orders").append(pa.table([[1], ["su"], [0], ["gold"]], schema=columns))

    interrupted(sink, fill)
    with pytest.raises(CommitError, match="has the column 'tier'"):
        commit(sink, [staged], place())
    assert orders(tmp_path) == [(1, "su", 0, "gold")]


def test_rows_that_an_earlier_version_staged_are_merged(tmp_path: Path) -> None:
    """They do not say which columns their table had."""
    sink = orders_sink(tmp_path, **MERGE)
    staged = unit(sink, 1, batch((1, "mo", 1)))
    (part,) = staged.body["tables"]
    older = {key: value for key, value in part.items() if key != "last_column"}
    commit(sink, [evolve(staged, body={"tables": [older]})], place())
    assert orders(tmp_path) == [(1, "mo", 1)]


def added(folder: Path, column: str) -> None:
    with table_in(folder, "orders").update_schema() as update:
        update.add_column(column, StringType())


def test_files_of_former_partitions_are_refused(tmp_path: Path) -> None:
    """Iceberg looks for a key in the partition of its newest row, and would leave the older row where it was."""
    run(tmp_path, [batch((1, "mo", 1))], **MERGE)
    with table_in(tmp_path, "orders").update_spec() as update:
        update.add_identity("id")
    with pytest.raises(SinkError, match="files that were written with a different partitioning"):
        run(tmp_path, [batch((1, "tu", 2))], job="next", **MERGE)


def test_one_target_has_one_key(tmp_path: Path) -> None:
    other = evolve(ORDERS, table="others", primary_key=("day",))
    sink = orders_sink(tmp_path, write_mode="merge")
    with pytest.raises(SinkError, match=r"some by the key \(id\) and some by the key \(day\)"):
        sink.create_tables((evolve(ORDERS, primary_key=("id",)), other), sink_place(place()))


def test_the_older_words_for_a_merge_are_known(tmp_path: Path) -> None:
    older = {"iceberg.table.upsert-mode-enabled": "true", "iceberg.table.primary-keys": "id,day"}
    assert orders_sink(tmp_path, **older).mode.key == ("id", "day")
    with pytest.raises(UsageError, match="true means write_mode = merge, but write_mode is append"):
        orders_sink(tmp_path, write_mode="append", **older)


def test_appending_says_nothing_of_the_rows_of_a_merged_table(tmp_path: Path) -> None:
    run(tmp_path, [batch((1, "mo", 1), (1, "tu", 2))], **MERGE)
    sink, here = orders_sink(tmp_path), sink_place(place(job_id="next"))
    sink.prepare(here)
    sink.apply_save_mode(here)
    sink.create_tables((ORDERS,), here)
    assert not sink.adds_to


def test_deleted_and_old_rows_need_only_their_key(tmp_path: Path) -> None:
    """The log of PostgreSQL has no more of them by default; a column that may not be null rejected such a row."""
    fields = [NestedField(1, "id", LongType()), NestedField(2, "day", StringType())]
    shop_in(tmp_path).create_table("shop.orders", Schema(*fields, NestedField(3, "n", IntegerType(), required=True)))
    first = batch((1, "mo", 1), (2, "mo", 2), (3, "tu", 3))
    gone = pa.RecordBatch.from_pylist([{"id": 1}, {"id": 2}, {"id": 9, "day": "we", "n": 9}], COLUMNS)
    kinds = pa.array([int(kind) for kind in (D, B, A)], pa.int8())
    absent = {"n": pa.array([True, True, False]), "day": pa.array([True, True, False])}
    run(tmp_path, [first], [Batch(table="orders", rows=gone, kinds=kinds, absent=absent)], **MERGE)
    assert orders(tmp_path) == [(3, "tu", 3), (9, "we", 9)]
    unknown = Batch(table="orders", rows=gone, kinds=kinds, absent={"day": pa.array([False, False, True])})
    with pytest.raises(RowError, match="sink Iceberg: column 'day', row 3 of a batch of orders: the change does not"):
        run(tmp_path, [unknown], job="next", **MERGE)


@pytest.mark.parametrize("options", [MERGE, {}])
def test_small_batches_share_a_row_group(tmp_path: Path, options: Mapping[str, Any]) -> None:
    """Each of them was a row group."""
    run(tmp_path, [batch((number, "a", number)) for number in range(50)], **options)
    assert len(orders(tmp_path)) == 50
    files = [pq.ParquetFile(path) for path in tmp_path.rglob("*.parquet")]
    (written,) = [file for file in files if file.schema_arrow.names == COLUMNS.names]
    assert (written.num_row_groups, written.metadata.num_rows) == (1, 50)
