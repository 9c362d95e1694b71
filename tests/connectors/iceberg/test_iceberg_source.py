"""The source ``Iceberg``: what the sink wrote, what it merged, and what other writers and later schemas make of it."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record
from pyiceberg.types import DoubleType, IntegerType, LongType, NestedField, UUIDType

from seatunnel_core.connector_api.testing import SourceConformance, options_of
from seatunnel_core.connector_api.testing.drive import Skipped, plan, read, shipped
from seatunnel_core.connectors.iceberg import data_files
from seatunnel_core.connectors.iceberg.snapshots import RowDelta
from seatunnel_core.connectors.iceberg.source import IcebergSource
from seatunnel_core.errors import SourceChangedError, SourceError, UsageError
from seatunnel_core.rows.batch import TableSchema
from tests.connectors.iceberg.iceberg_reading import visible_rows
from tests.connectors.iceberg.iceberg_tables import catalog_of, shop_in, table_in
from tests.connectors.iceberg.test_iceberg_merging import BY_DAY, MERGE, A, D, N, batch, run


def source_of(folder: Path, **more: Any) -> IcebergSource:
    values = {"iceberg.catalog.config": catalog_of(folder), "namespace": "shop", "table": "orders", **more}
    return IcebergSource(options_of(IcebergSource, values))


def rows_of(folder: Path, **more: Any) -> list[tuple[Any, ...]]:
    source = source_of(folder, **more)
    source.open(restored=False)
    return sorted((tuple(row.values()) for row in read(source)), key=repr)


@pytest.fixture(scope="module")
def in_partitions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table into which was merged, for tests that only read."""
    folder = tmp_path_factory.mktemp("shop")
    run(folder, [batch((1, "mo", 1), (2, "mo", 2), (2, "mo", 3), (3, "tu", 4))], **BY_DAY)
    run(folder, [batch((1, "mo", 5), (3, "tu", 0), (4, "tu", 6), kinds=[A, D, A])], job="next", **BY_DAY)
    return folder


class TestIcebergSource(SourceConformance):
    """On a table into which was merged, in partitions, so that keys and places delete rows."""

    source_class = IcebergSource

    @pytest.fixture(autouse=True)
    def merged(self, in_partitions: Path) -> None:
        self.folder = in_partitions

    def options(self) -> Mapping[str, Any]:
        return {"iceberg.catalog.config": catalog_of(self.folder), "namespace": "shop", "table": "orders"}

    def expected(self) -> Sequence[Mapping[str, Any]]:
        found = [{"id": 1, "day": "mo", "n": 5}, {"id": 2, "day": "mo", "n": 3}, {"id": 4, "day": "tu", "n": 6}]
        assert sorted(visible_rows(table_in(self.folder, "orders")), key=repr) == found
        return found


def test_a_merge_without_partitions_and_a_later_append_are_read(tmp_path: Path) -> None:
    run(tmp_path, [batch((1, "mo", 1), (2, "mo", 2))], [batch((1, "tu", 3), (2, "tu", 0), kinds=[A, D])], **MERGE)
    run(tmp_path, [batch((1, "we", 9))], job="next")
    assert rows_of(tmp_path) == [(1, "tu", 3), (1, "we", 9)]


def test_an_empty_table_has_columns_and_no_split(tmp_path: Path) -> None:
    run(tmp_path)
    found = plan(source_of(tmp_path))
    assert (found.splits, found.schemas[0].columns.names) == ((), ["id", "day", "n"])


def test_a_snapshot_is_read_as_it_was(tmp_path: Path) -> None:
    run(tmp_path, [batch((1, "mo", 1))], **MERGE)
    first = table_in(tmp_path, "orders").current_snapshot()
    run(tmp_path, [batch((1, "tu", 2))], job="next", **MERGE)
    with table_in(tmp_path, "orders").update_schema() as update:
        update.add_column("note", LongType())
    assert rows_of(tmp_path, use_snapshot_id=first.snapshot_id) == [(1, "mo", 1)]
    assert rows_of(tmp_path, use_snapshot_timestamp=first.timestamp_ms) == [(1, "mo", 1)]
    assert rows_of(tmp_path) == [(1, "tu", 2, None)]
    with pytest.raises(SourceError, match="no snapshot 7, or the snapshot has expired; the newest snapshots are"):
        rows_of(tmp_path, use_snapshot_id=7)


def test_rows_are_read_by_the_present_columns(tmp_path: Path) -> None:
    """The files have other names, narrower types, and columns that are gone; so have the files of deleted keys."""
    run(tmp_path, [batch((1, "mo", 1), (2, "mo", 2))], **MERGE)
    with table_in(tmp_path, "orders").update_schema() as update:
        update.rename_column("id", "number")
        update.update_column("n", LongType())
        update.delete_column("day")
    changed = TableSchema(table="orders", columns=pa.schema([("number", pa.int64()), ("n", pa.int64())]))
    run(tmp_path, [batch((2, 2**40), schema=changed)], job="next", schema=changed, **{**MERGE, "merge_key": "number"})
    with table_in(tmp_path, "orders").update_schema() as update:
        update.rename_column("number", "key")
    assert rows_of(tmp_path) == [(1, 1), (2, 2**40)]
    assert plan(source_of(tmp_path)).schemas[0].columns.types == [pa.int64(), pa.int64()]


EXTREMES: Mapping[str, tuple[pa.DataType, list[Any]]] = {
    "boolean": (pa.bool_(), [False, True]),
    "int": (pa.int32(), [-(2**31), 2**31 - 1]),
    "long": (pa.int64(), [-(2**63), 2**63 - 1]),
    "float": (pa.float32(), [float("-inf"), 1.401298464324817e-45]),
    "double": (pa.float64(), [float("inf"), 5e-324]),
    "decimal": (pa.decimal128(38, 18), [Decimal("-99999999999999999999.999999999999999999"), Decimal("1e-18")]),
    "string": (pa.string(), ["", "\U0010ffff\x00 é"]),
    "binary": (pa.binary(), [b"", b"\x00\xff"]),
    "date": (pa.date32(), [date(1, 1, 1), date(9999, 12, 31)]),
    "time": (pa.time64("us"), [time(0), time(23, 59, 59, 999999)]),
    "timestamp": (pa.timestamp("us"), [datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)]),
    "timestamptz": (pa.timestamp("us", "UTC"), [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)]),
    "list": (pa.list_(pa.string()), [[], ["a", None]]),
    "map": (pa.map_(pa.string(), pa.int64()), [[], [("a", None)]]),
    "struct": (
        pa.struct([("a", pa.string()), ("b", pa.list_(pa.int32()))]),
        [{"a": None, "b": None}, {"a": "", "b": [1]}],
    ),
}


def test_every_type_comes_back_as_it_was_written(tmp_path: Path) -> None:
    schema = TableSchema(table="orders", columns=pa.schema([(name, kind) for name, (kind, _) in EXTREMES.items()]))
    given = [*([values[at] for _, values in EXTREMES.values()] for at in (0, 1)), [None] * len(EXTREMES)]
    run(tmp_path, [batch(*map(tuple, given), schema=schema)], schema=schema)
    source = source_of(tmp_path)
    found = plan(source)
    assert found.schemas[0].columns.names == schema.columns.names
    for column, wanted in zip(found.schemas[0].columns, schema.columns, strict=True):
        assert str(column.type).replace("element", "item") == str(wanted.type).replace("element", "item"), column.name
    assert [list(row.values()) for row in read(source, found)] == given


def test_a_uuid_of_others_is_a_text(tmp_path: Path) -> None:
    number = UUID(int=2**128 - 1)
    table = shop_in(tmp_path).create_table("shop.orders", Schema(NestedField(1, "id", UUIDType())))
    table.append(pa.table({"id": pa.array([number.bytes], pa.binary(16))}, pa.schema([("id", pa.uuid())])))
    assert rows_of(tmp_path) == [(str(number),)]


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    """pyiceberg reads the metadata of version 3, and writes none."""
    table = shop_in(tmp_path).create_table("shop.orders", Schema(NestedField(1, "id", LongType())))
    file = Path(table.metadata_location.removeprefix("file://"))
    file.write_text(json.dumps({**json.loads(file.read_text()), "format-version": 3, "next-row-id": 0}))
    with pytest.raises(
        SourceError, match=r"shop\.orders has format version 3, but only versions 1 and 2 are supported"
    ):
        plan(source_of(tmp_path))


def test_columns_are_chosen_and_keys_apply_all_the_same(tmp_path: Path) -> None:
    run(tmp_path, [batch((1, "mo", 1), (2, "mo", 2))], [batch((1, "tu", 3), (2, "tu", 0), kinds=[A, D])], **MERGE)
    assert rows_of(tmp_path, read_columns=["n", "day"]) == [(3, "tu")]
    assert plan(source_of(tmp_path, read_columns=["n"])).schemas[0].columns.names == ["n"]
    with pytest.raises(SourceError, match=r"'read_columns': .*shop\.orders has no column 'dy'; did you mean day"):
        plan(source_of(tmp_path, read_columns=["dy"]))


def test_many_keys_are_compared_with_many_rows_at_a_time() -> None:
    """So that the time for a file does not grow with its batches times the keys."""
    batches = [pa.RecordBatch.from_pydict({"id": [number]}) for number in range(5)]
    sizes = [rows.num_rows for rows in data_files._together(iter(batches), [pa.table({"id": [7, 8]})])]
    assert (sizes, [rows.num_rows for rows in data_files._together(iter(batches), [])]) == ([2, 2, 1], [1] * 5)


def foreign(folder: Path, kind: Any, **more: Any) -> Any:
    """A table with a column ``id`` that a user made, into which a row was put."""
    return shop_in(folder).create_table("shop.orders", Schema(NestedField(1, "id", kind)), **more)


def with_deletes(
    table: Any, rows: pa.Table, *, keys: Sequence[int], form: str = "PARQUET", partition: Record | None = None
) -> None:
    """Commit a file of keys, as another writer would."""
    path = f"{table.location()}/data/keys-{len(table.snapshots())}.parquet"
    with table.io.new_output(path).create() as stream:
        pq.write_table(rows, stream)
    file = DataFile.from_args(
        content=DataFileContent.EQUALITY_DELETES,
        file_path=path,
        file_format=FileFormat[form],
        partition=partition or Record(),
        record_count=rows.num_rows,
        file_size_in_bytes=len(table.io.new_input(path)),
        equality_ids=list(keys),
    )
    file.spec_id = table.spec().spec_id
    transaction = table.transaction()
    with RowDelta.of(transaction, {}) as delta:
        delta.append_deleting_file(file)
    transaction.commit_transaction()


def keyed(name: str, values: Sequence[Any], kind: pa.DataType, number: int) -> pa.Table:
    column = pa.field(name, kind, metadata={"PARQUET:field_id": str(number)})
    return pa.table([pa.array(values, kind)], schema=pa.schema([column]))


def test_keys_of_other_writers_apply_with_nulls_and_wider_types(tmp_path: Path) -> None:
    table = foreign(tmp_path, IntegerType())
    table.append(pa.table({"id": pa.array([1, None, 3], pa.int32())}))
    with_deletes(table, keyed("id", [None, 3], pa.int32(), 1), keys=[1])
    with table.update_schema() as update:
        update.update_column("id", LongType())
    table.append(pa.table({"id": pa.array([None, 3], pa.int64())}))
    assert rows_of(tmp_path) == [(1,), (3,), (None,)]


@pytest.mark.parametrize(
    ("kind", "values", "form", "message"),
    [
        (DoubleType(), keyed("id", [1.0], pa.float64(), 1), "PARQUET", r"deletes rows by the column 'id', a double"),
        (
            LongType(),
            keyed("id", [1], pa.int64(), 1),
            "AVRO",
            r"has the format AVRO, but only Parquet is supported",
        ),
    ],
)
def test_deletes_that_cannot_be_applied_are_refused(
    tmp_path: Path, kind: Any, values: pa.Table, form: str, message: str
) -> None:
    table = foreign(tmp_path, kind)
    table.append(values.cast(pa.schema([("id", values.schema.field(0).type)])))
    with_deletes(table, values, keys=[1], form=form)
    with pytest.raises(SourceError, match=message):
        plan(source_of(tmp_path))


def test_keys_by_a_column_that_is_gone_are_refused(tmp_path: Path) -> None:
    run(tmp_path, [batch((1, "mo", 1))], [batch((1, "tu", 2))], **MERGE)
    with table_in(tmp_path, "orders").update_schema() as update:
        update.delete_column("id")
    with pytest.raises(SourceError, match=r"deletes rows by a nested field or a dropped column, .*compact"):
        plan(source_of(tmp_path))


def test_keys_reach_rows_of_their_partition_alone_unless_they_are_of_none(tmp_path: Path) -> None:
    """A partition by a fraction may be NaN, which is not equal to itself."""
    schema = TableSchema(table="orders", columns=pa.schema([("id", pa.int64()), ("part", pa.float64())]))
    nan = float("nan")
    parts = {"iceberg.table.partition-keys": "part"}
    run(tmp_path, [batch((1, nan), (2, nan), (1, 2.5), schema=schema)], schema=schema, **parts)
    table = table_in(tmp_path, "orders")
    with_deletes(table, keyed("id", [1], pa.int64(), 1), keys=[1], partition=Record(nan))
    assert rows_of(tmp_path, read_columns=["id"]) == [(1,), (2,)], "the one of the other partition, and the other key"
    with table.update_spec() as update:
        update.remove_field("part")
    with_deletes(table, keyed("id", [1], pa.int64(), 1), keys=[1])
    assert rows_of(tmp_path, read_columns=["id"]) == [(2,)], "the keys are of no partition"


@pytest.mark.torture
@settings(max_examples=15, deadline=None)
@given(
    some.lists(
        some.lists(some.tuples(some.integers(1, 4), some.sampled_from("ab"), some.sampled_from([N, A, D])), min_size=1),
        min_size=1,
        max_size=4,
    ),
    some.booleans(),
)
def test_what_was_merged_is_read_as_by_the_specification(units: list[list[Any]], divided: bool) -> None:
    with TemporaryDirectory() as folder:
        rows = [
            [batch(*((key, day, n) for n, (key, day, _) in enumerate(unit)), kinds=[kind for *_, kind in unit])]
            for unit in units
        ]
        for number, each in enumerate(rows):
            run(Path(folder), each, job=f"job{number}", **(BY_DAY if divided else MERGE))
        expected = [tuple(row.values()) for row in visible_rows(table_in(Path(folder), "orders"))]
        assert rows_of(Path(folder)) == sorted(expected, key=repr)


def test_what_is_gone_is_told(tmp_path: Path) -> None:
    run(tmp_path, [batch((1, "mo", 1))])
    source = source_of(tmp_path)
    found = plan(source)
    held = shipped(source)
    next(tmp_path.rglob("data/**/*.parquet")).unlink()
    with pytest.raises(
        SourceChangedError, match=r"a file of the snapshot .* no longer exists, probably because the snapshot"
    ):
        list(held.read(found.splits[0], Skipped()))
    catalog = source_of(tmp_path)._table().catalog
    catalog.drop_table("shop.orders")
    with pytest.raises(SourceError, match=r"the table shop\.orders does not exist in the catalog"):
        plan(source_of(tmp_path))
    run(tmp_path, [batch((1, "mo", 1))], job="next")
    other = source_of(tmp_path)
    other.open(restored=True)
    with pytest.raises(SourceChangedError, match="it was dropped and created again"):
        list(other.read(found.splits[0], Skipped()))


def test_a_task_has_neither_catalog_nor_snapshots(tmp_path: Path) -> None:
    run(tmp_path, [batch((1, "mo", 1))], [batch((2, "mo", 1))])
    source = source_of(tmp_path)
    source.open(restored=False)
    in_task = shipped(source)
    assert in_task._properties == {}
    assert in_task._files is not None
    assert "manifest-list" not in in_task._files._text


def test_a_name_with_variables_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a source does not support table variables"):
        source_of(tmp_path, table="${table_name}")
