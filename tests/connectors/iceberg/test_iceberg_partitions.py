"""Partitioned tables of Iceberg: each file holds the rows of one partition, and the table says so."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StructType

from seatunnel_core.connector_api.testing import commit, stage
from seatunnel_core.connector_api.testing.drive import place, sink_place
from seatunnel_core.connectors.iceberg import writer as writing
from seatunnel_core.connectors.iceberg.partitions import Partition, partition_keys
from seatunnel_core.connectors.iceberg.sink import IcebergSink
from seatunnel_core.errors import CommitError, SinkError, UsageError
from seatunnel_core.rows.batch import TableSchema
from tests.connectors.iceberg.iceberg_tables import orders_sink, shop_in

COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "id": (pa.int64(), [1, -7, 2**62, None]),
    "small": (pa.int16(), [1, -2, 3, None]),
    "name": (pa.string(), ["Größe", "", "数据", None]),
    "flag": (pa.bool_(), [True, False, True, None]),
    "price": (pa.decimal128(12, 2), [Decimal("1.25"), Decimal("-0.01"), Decimal("9999999999.99"), None]),
    "raw": (pa.binary(), [b"\0\xff", b"", b"abc", None]),
    "real": (pa.float64(), [0.5, -0.0, 1e300, None]),
    "day": (pa.date32(), [date(1969, 7, 20), date(2024, 2, 29), date(2024, 3, 1), None]),
    "at": (pa.timestamp("us"), [datetime(1969, 7, 20, 20), datetime(2024, 2, 29), datetime(2024, 2, 29, 23), None]),
    "at_tz": (pa.timestamp("us", "UTC"), [datetime(2038, 1, 19, 3, 14, 8, tzinfo=UTC)] * 3 + [None]),
}
SCHEMA = TableSchema(table="orders", columns=pa.schema([pa.field(name, kind) for name, (kind, _) in COLUMNS.items()]))
ROWS = pa.RecordBatch.from_pydict({name: values for name, (_, values) in COLUMNS.items()}, schema=SCHEMA.columns)


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return shop_in(tmp_path)


@pytest.fixture
def sink_of(tmp_path: Path) -> Callable[..., IcebergSink]:
    def make(keys: str = "", **more: Any) -> IcebergSink:
        return orders_sink(tmp_path, **more, **({"iceberg.table.partition-keys": keys} if keys else {}))

    return make


def publish(sink: IcebergSink, *batches: pa.RecordBatch, unit: int = 1) -> None:
    there = place(unit=unit)
    sink.prepare(sink_place(there))
    schema = TableSchema(table="orders", columns=batches[0].schema)
    commit(sink, [stage(sink, schema, list(batches), there)], there)


def partitions(catalog: Catalog) -> list[dict[str, Any]]:
    files = catalog.load_table("shop.orders").inspect.files()
    return sorted(files["partition"].to_pylist(), key=str)


def test_each_partition_has_a_file_and_a_reader_prunes_by_it(sink_of: Any, catalog: Catalog) -> None:
    publish(sink_of("name, bucket(id, 4)"), ROWS, ROWS)
    table = catalog.load_table("shop.orders")
    assert table.scan().count() == 8
    found = partitions(catalog)
    assert len(found) == 4
    assert {each["name"] for each in found} == {"Größe", "", "数据", None}
    (task,) = table.scan(row_filter="name = '数据'").plan_files()
    assert task.file.record_count == 2


@pytest.mark.parametrize(
    "keys",
    [
        ",".join(COLUMNS),
        ",".join(f"bucket({name}, 3)" for name in ("id", "small", "name", "price", "raw", "day", "at", "at_tz")),
        "truncate(id, 10), truncate(name, 2), truncate(price, 5), year(day), month(at), hour(at_tz)",
        "month(day), day(at), year(at_tz)",
        "day(day), hour(at), day(at_tz)",
    ],
)
def test_every_type_and_transform_partitions_as_pyiceberg_itself_does(
    sink_of: Any, catalog: Catalog, keys: str
) -> None:
    publish(sink_of(keys), ROWS)
    table = catalog.load_table("shop.orders")
    theirs = catalog.create_table("shop.theirs", table.schema(), partition_spec=table.spec())
    theirs.append(pa.Table.from_batches([ROWS]).cast(table.schema().as_arrow()))
    expected = sorted(theirs.inspect.files()["partition"].to_pylist(), key=str)
    assert partitions(catalog) == expected
    assert sorted(map(str, table.scan().to_arrow().to_pylist())) == sorted(map(str, ROWS.to_pylist()))


def test_a_table_that_somebody_partitioned_later_is_written_by_its_new_partitions(
    sink_of: Any, catalog: Catalog
) -> None:
    publish(sink_of(), ROWS)
    with catalog.load_table("shop.orders").update_spec() as spec:
        spec.add_identity("flag")
    publish(sink_of(), ROWS, unit=2)
    assert [each.get("flag") for each in partitions(catalog)] == [False, None, None, True]


def test_rows_staged_for_other_partitions_than_the_table_has_now_are_not_published(
    sink_of: Any, catalog: Catalog
) -> None:
    sink, there = sink_of("flag"), place()
    committable = stage(sink, SCHEMA, [ROWS], there)
    with catalog.load_table("shop.orders").update_spec() as spec:
        spec.add_identity("small")
    with pytest.raises(CommitError, match="restore the table's former partitioning"):
        commit(sink, [committable], there)
    with catalog.load_table("shop.orders").update_spec() as spec:
        spec.remove_field("small")
    commit(sink, [committable], there, may_be_committed=True)
    assert catalog.load_table("shop.orders").scan().count() == 4


def test_more_partitions_than_open_files_make_more_files_and_lose_no_row(
    sink_of: Any, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "OPEN_FILES", 2)
    publish(sink_of("name"), ROWS, ROWS)
    assert catalog.load_table("shop.orders").scan().count() == 8
    assert len(partitions(catalog)) == 8, "each batch has four partitions, and two files were open"


def test_a_committable_with_a_partition_that_is_none_is_refused(sink_of: Any, catalog: Catalog) -> None:
    sink, there = sink_of("small"), place()
    committable = stage(sink, SCHEMA, [ROWS], there)
    for partition in ([], ["AAA"], ["AQ==", "AQ=="]):
        (part,) = committable.body["tables"]
        part["files"][0][1:] = partition
        with pytest.raises(CommitError, match="is not a partition of"):
            commit(sink, [committable], there)
    assert catalog.load_table("shop.orders").scan().count() == 0


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            "nothing",
            r"identity\(nothing\) cannot partition the table shop.orders, because the table has no column nothing",
        ),
        ("hour(day)", r"hour\(day\) cannot partition the table shop.orders, because the column day is a date"),
    ],
)
def test_keys_that_do_not_fit_the_rows_are_refused_by_a_check(sink_of: Any, keys: str, message: str) -> None:
    with pytest.raises(SinkError, match=message):
        sink_of(keys).check_schema(SCHEMA)


@pytest.mark.parametrize("keys", ["bucket(id)", "bucket(id, 0)", "week(at)", "day(at, 2)", "truncate(name, x)"])
def test_keys_that_mean_nothing_are_refused_when_the_job_is_planned(sink_of: Any, keys: str) -> None:
    with pytest.raises(UsageError, match="is invalid; write a column"):
        sink_of(keys)


def test_keys_are_read_with_and_without_spaces() -> None:
    assert partition_keys(" a ,Day( at ),bucket(b,16), truncate(c , 3)") == (
        ("a", "identity"),
        ("at", "day"),
        ("b", "bucket[16]"),
        ("c", "truncate[3]"),
    )
    assert partition_keys("") == ()


def test_a_partition_by_a_part_of_a_row_is_refused(sink_of: Any, catalog: Catalog) -> None:
    inner = NestedField(2, "inner", LongType())
    schema = Schema(NestedField(1, "row", StructType(inner)))
    catalog.create_table(
        "shop.orders", schema, partition_spec=PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "p"))
    )
    rows = TableSchema(table="orders", columns=pa.schema([("row", pa.struct([("inner", pa.int64())]))]))
    with pytest.raises(SinkError, match="is partitioned by 'p', a nested field"):
        sink_of().create_tables([rows], sink_place(place()))


def test_values_of_partitions_are_texts_that_a_checkpoint_holds(sink_of: Any) -> None:
    committable = stage(sink_of("day, name"), SCHEMA, [ROWS], place())
    (part,) = committable.body["tables"]
    values: set[Partition] = {tuple(partition) for _, *partition in part["files"]}
    assert (None, None) in values
    assert len(values) == 4
