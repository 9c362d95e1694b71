"""What the sink ``Iceberg`` does to a table that others write, too: other engines, other programs, other schemas."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import partial
from pathlib import Path
from threading import Barrier
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, LongType, NestedField, StringType

from seatunnel_core.connector_api.sink import WriterContext
from seatunnel_core.connector_api.testing import commit, options_of, stage
from seatunnel_core.connector_api.testing.drive import begin, place, sink_place
from seatunnel_core.connectors.iceberg.columns import iceberg_schema, refuse_unfit
from seatunnel_core.connectors.iceberg.sink import IcebergSink
from seatunnel_core.connectors.iceberg.table import _delete
from seatunnel_core.errors import CommitError, RowError, SinkError, UsageError
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.rows.kind import RowKind
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.retraction import Retraction
from tests.connectors.iceberg.iceberg_tables import catalog_of, orders_sink, shop_in

ORDERS = TableSchema(table="orders", columns=pa.schema([("id", pa.int64()), ("name", pa.string())]))


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return shop_in(tmp_path)


@pytest.fixture
def sink_of(tmp_path: Path) -> Callable[..., IcebergSink]:
    return partial(orders_sink, tmp_path)


def rows(*ids: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"id": each, "name": f"n{each}"} for each in ids], schema=ORDERS.columns)


def staged(sink: IcebergSink, *ids: int, **where: Any) -> tuple[Committable, WriterContext]:
    there = place(**where)
    sink.prepare(sink_place(there))
    return stage(sink, ORDERS, [rows(*ids)], there), there


def ids(catalog: Catalog) -> list[int]:
    return sorted(catalog.load_table("shop.orders").scan().to_arrow()["id"].to_pylist())


# -- engines -----------------------------------------------------------------------------------------------------------


def interrupted(sink: IcebergSink, between: Callable[[], None]) -> None:
    """Let something happen just before the catalog gets the commit, once: an engine was paused there."""
    catalog = sink._catalog()
    done: list[Any] = []
    commit_table = catalog.commit_table

    def paused(*arguments: Any, **named: Any) -> Any:
        if not done:
            done.append(True)
            between()
        return commit_table(*arguments, **named)

    catalog.commit_table = paused


def test_an_engine_that_wakes_up_amid_a_commit_does_not_repeat_it(sink_of: Any, catalog: Catalog) -> None:
    old, new = sink_of(), sink_of()
    committable, there = staged(old, 1, 2)
    interrupted(old, lambda: commit(new, [committable], place(epoch=2), may_be_committed=True))
    with pytest.raises(
        CommitError, match="another engine has taken over this job: its epoch is 2, and the epoch of this engine is 1"
    ):
        commit(old, [committable], there)
    assert ids(catalog) == [1, 2]


def test_what_was_swept_is_not_committed_by_an_engine_that_wakes_up(sink_of: Any, catalog: Catalog) -> None:
    old, new = sink_of(), sink_of()
    committable, there = staged(old, 1, 2)

    def sweep() -> None:
        assert new.sweep(sink_place(place(epoch=2)), frozenset(), final=False) == 1

    interrupted(old, sweep)
    with pytest.raises(CommitError, match="another engine"):
        commit(old, [committable], there)
    assert ids(catalog) == []


def test_staged_files_are_removed_where_the_data_lie_and_not_where_the_table_does(
    catalog: Catalog, tmp_path: Path
) -> None:
    properties = {"write.data.path": f"file://{tmp_path}/elsewhere"}
    table = catalog.create_table("shop.orders", iceberg_schema(ORDERS), properties=properties)
    table.metadata = table.metadata.model_copy(update={"location": "hdfs://no-such-host/orders"})
    (tmp_path / "elsewhere").mkdir()
    file = tmp_path / "elsewhere" / "staged.parquet"
    file.touch()
    assert _delete(table, str(file))
    assert not file.exists()


def test_another_writer_of_the_table_only_delays(sink_of: Any, catalog: Catalog) -> None:
    sink = sink_of()
    committable, there = staged(sink, 1, 2)
    interrupted(sink, lambda: catalog.load_table("shop.orders").append(pa.Table.from_batches([rows(7)])))
    commit(sink, [committable], there)
    assert ids(catalog) == [1, 2, 7]
    assert sink.sweep(sink_place(there), frozenset(), final=True) == 0


def test_a_repeated_commit_is_found_also_when_its_snapshot_was_removed(sink_of: Any, catalog: Catalog) -> None:
    sink = sink_of()
    first, there = staged(sink, 1)
    second, _ = staged(sink, 2, unit=2)
    commit(sink, [first], there)
    commit(sink, [second], there)
    table = catalog.load_table("shop.orders")
    table.maintenance.expire_snapshots().by_id(table.snapshots()[0].snapshot_id).commit()
    commit(sink_of(), [first, second], place(epoch=2), may_be_committed=True)
    assert ids(catalog) == [1, 2]


def test_a_staged_file_that_is_gone_is_not_committed(sink_of: Any, catalog: Catalog, tmp_path: Path) -> None:
    sink = sink_of()
    committable, there = staged(sink, 1)
    next(tmp_path.rglob("data/**/*.parquet")).unlink()
    with pytest.raises(CommitError, match=r"staged data file no longer exists .* no program removes orphan files"):
        commit(sink, [committable], there, may_be_committed=True)
    assert ids(catalog) == []


def with_body(committable: Committable, body: dict[str, Any]) -> Committable:
    return evolve(committable, body=body)


def test_a_committable_of_something_else_is_refused(sink_of: Any) -> None:
    sink = sink_of()
    committable, there = staged(sink, 1)
    (part,) = committable.body["tables"]
    bodies = [{"tables": [{**part, "table": ["shop", "others"]}]}, {"tables": [{**part, "table": []}]}]
    for name in ("../x.parquet", "job-p1-s0-o0-e1-u2-a1-0.parquet", 7, "job2-p1-s0-o0-e1-u1-a1-0.parquet"):
        bodies.append({"tables": [{**part, "files": [[name]]}]})
    bodies.append({"tables": [{**part, "files": [[*part["files"][0], 7]]}]})
    bodies.append({"tables": [{**part, "files": [[]]}]})
    for body in bodies:
        with pytest.raises(CommitError, match="was not created by this sink"):
            commit(sink, [with_body(committable, body)], there)


def test_a_committable_from_before_there_were_several_tables_is_published(sink_of: Any, catalog: Catalog) -> None:
    sink = sink_of()
    committable, there = staged(sink, 1)
    old = {"files": [file for part in committable.body["tables"] for (file,) in part["files"]]}
    commit(sink, [with_body(committable, old)], there)
    commit(sink, [with_body(committable, old)], there, may_be_committed=True)
    assert ids(catalog) == [1]


def test_rows_that_were_compacted_cannot_be_taken_back(sink_of: Any, catalog: Catalog) -> None:
    sink = sink_of()
    committable, there = staged(sink, 1, 2)
    commit(sink, [committable], there)
    table = catalog.load_table("shop.orders")
    table.overwrite(table.scan().to_arrow())
    back = Retraction(epoch=2, base_epoch=1, next_units={0: 1}, in_flight={}, named=frozenset())
    with pytest.raises(SinkError, match=r"1 units are no longer in the files .* --accept-duplicates"):
        sink_of().roll_back(sink_place(place(epoch=2)), back)


# -- save modes --------------------------------------------------------------------------------------------------------


def begun(sink: IcebergSink, **where: Any) -> None:
    """As at the first start of a job."""
    there = sink_place(place(**where))
    sink.prepare(there)
    sink.apply_save_mode(there)
    sink.create_tables([ORDERS], there)


def test_dropped_are_the_rows_of_others_and_not_those_of_this_job(sink_of: Any, catalog: Catalog) -> None:
    catalog.create_table("shop.orders", ORDERS.columns).append(pa.Table.from_batches([rows(7, 8)]))
    sink = sink_of(data_save_mode="DROP_DATA")
    begun(sink)
    assert ids(catalog) == []
    committable, there = staged(sink, 1)
    commit(sink, [committable], there)
    begun(sink_of(data_save_mode="DROP_DATA", schema_save_mode="RECREATE_SCHEMA"), pipeline_id=2)
    assert ids(catalog) == [1]


def test_a_table_with_rows_is_refused_when_asked_for(sink_of: Any, catalog: Catalog) -> None:
    table = catalog.create_table("shop.orders", ORDERS.columns)
    sink = sink_of(data_save_mode="ERROR_WHEN_DATA_EXISTS")
    begun(sink)
    table.append(pa.Table.from_batches([rows(7)]))
    with pytest.raises(
        SinkError, match=r"the table shop.orders has rows, and data_save_mode is ERROR_WHEN_DATA_EXISTS"
    ):
        begun(sink)


def test_the_save_mode_acts_once_though_several_sources_and_restarts_come(sink_of: Any, catalog: Catalog) -> None:
    table = catalog.create_table("shop.orders", ORDERS.columns)
    sink = sink_of(data_save_mode="DROP_DATA")
    begun(sink)
    table.refresh().append(pa.Table.from_batches([rows(7)]))
    sink.create_tables([ORDERS], sink_place(place()))
    later = sink_place(place(epoch=2))
    sink.prepare(later)
    sink.create_tables([ORDERS], later)
    assert ids(catalog) == [7]


def test_a_table_is_created_again_with_the_columns_of_the_rows(sink_of: Any, catalog: Catalog) -> None:
    catalog.create_table("shop.orders", pa.schema([("other", pa.string())]))
    sink = sink_of(schema_save_mode="RECREATE_SCHEMA", **{"iceberg.table.auto-create-props": {"owner": "shop"}})
    begun(sink)
    table = catalog.load_table("shop.orders")
    assert (table.schema().column_names, table.properties["owner"]) == (["id", "name"], "shop")


@pytest.mark.parametrize("mode", ["ERROR_WHEN_SCHEMA_NOT_EXIST", "IGNORE"])
def test_a_table_that_is_not_there_is_refused_when_asked_for(sink_of: Any, mode: str) -> None:
    with pytest.raises(SinkError, match=f"the table shop.orders does not exist, and schema_save_mode is {mode}"):
        staged(sink_of(schema_save_mode=mode), 1)


def test_many_sinks_make_a_new_catalog_at_the_same_time(sink_of: Any, tmp_path: Path) -> None:
    sinks = [sink_of(table=f"t{number}", namespace="new") for number in range(8)]
    together = Barrier(len(sinks))

    def make(sink: IcebergSink) -> None:
        together.wait()
        sink.prepare(sink_place(place()))
        sink.create_tables([ORDERS], sink_place(place()))

    with ThreadPoolExecutor(len(sinks)) as pool:
        list(pool.map(make, sinks))
    assert len(load_catalog("default", **catalog_of(tmp_path)).list_tables("new")) == len(sinks)


# -- schemas -----------------------------------------------------------------------------------------------------------

EVERYTHING: dict[str, tuple[pa.DataType, Any]] = {
    "boolean": (pa.bool_(), True),
    "tinyint": (pa.int8(), -128),
    "smallint": (pa.int16(), 30_000),
    "int": (pa.int32(), 2**31 - 1),
    "bigint": (pa.int64(), -(2**63)),
    "float": (pa.float32(), 0.5),
    "double": (pa.float64(), 0.1),
    "decimal": (pa.decimal128(38, 4), Decimal("1234567890123456789012345678901234.5678")),
    "string": (pa.string(), "Größe 数据"),
    "bytes": (pa.binary(), b"\0\xff"),
    "date": (pa.date32(), date(1969, 7, 20)),
    "time": (pa.time64("us"), time(23, 59, 59, 999_999)),
    "timestamp": (pa.timestamp("us"), datetime(1900, 1, 1, 0, 0, 0, 1)),
    "timestamp_tz": (pa.timestamp("us", "UTC"), datetime(2038, 1, 19, 3, 14, 8, tzinfo=UTC)),
    "a list": (pa.list_(pa.int16()), [1, None]),
    "map": (pa.map_(pa.string(), pa.list_(pa.int32())), [("a", [1]), ("b", None)]),
    "row": (pa.struct([("x y", pa.int32()), ("z", pa.string())]), {"x y": 1, "z": None}),
    "float_vector": (pa.list_(pa.float32(), 2), [0.5, 1.5]),
}


def test_every_type_arrives_with_its_values(sink_of: Any, catalog: Catalog) -> None:
    columns = pa.schema([pa.field(name, kind) for name, (kind, _) in EVERYTHING.items()])
    full = {name: value for name, (_, value) in EVERYTHING.items()}
    batch = pa.RecordBatch.from_pylist([full, dict.fromkeys(full)], schema=columns)
    sink, there = sink_of(), place()
    commit(sink, [stage(sink, TableSchema(table="all", columns=columns), [batch], there)], there)
    assert catalog.load_table("shop.orders").scan().to_arrow().to_pylist() == [full, dict.fromkeys(full)]


@pytest.mark.parametrize("kind", [pa.null(), pa.decimal256(50, 2), pa.list_(pa.uint64())])
def test_a_type_that_iceberg_has_not_is_refused_by_a_check(sink_of: Any, kind: pa.DataType) -> None:
    with pytest.raises(SinkError, match=r"column 'c' of the table t has the type .* Iceberg has no type"):
        sink_of().check_schema(TableSchema(table="t", columns=pa.schema([("c", kind)])))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ([("id", LongType())], r"has no column 'name', .* it has id$"),
        ([("id", LongType()), ("named", StringType())], "did you mean named"),
        ([("id", IntegerType()), ("name", StringType())], "'id': .* bigint, which does not fit into int of the table"),
        ([("id", LongType()), ("name", LongType())], "'name': .* string, which does not fit into long"),
        ([("id", LongType()), ("name", StringType()), ("more", LongType())], "requires a column 'more'"),
    ],
)
def test_rows_that_do_not_fit_are_refused_before_any_moves(
    sink_of: Any, catalog: Catalog, fields: list[tuple[str, Any]], message: str
) -> None:
    named = [NestedField(at, name, kind, required=name == "more") for at, (name, kind) in enumerate(fields, 1)]
    catalog.create_table("shop.orders", Schema(*named))
    with pytest.raises(SinkError, match=message):
        staged(sink_of(), 1)


def test_names_may_differ_in_case_and_missing_columns_are_null(sink_of: Any, catalog: Catalog) -> None:
    fields = [("more", StringType()), ("ID", LongType()), ("Name", StringType())]
    catalog.create_table("shop.orders", Schema(*(NestedField(at, *each) for at, each in enumerate(fields, 1))))
    sink = sink_of()
    committable, there = staged(sink, 3)
    commit(sink, [committable], there)
    found = catalog.load_table("shop.orders").scan().to_arrow().to_pylist()
    assert found == [{"more": None, "ID": 3, "Name": "n3"}]
    with pytest.raises(SinkError, match="has no column 'id'"):
        staged(sink_of(case_sensitive=True), 1)


def test_a_null_in_a_required_column_names_the_row(sink_of: Any, catalog: Catalog) -> None:
    fields = [NestedField(1, "id", LongType(), required=True), NestedField(2, "name", StringType())]
    catalog.create_table("shop.orders", Schema(*fields))
    writer = begin(sink_of(), ORDERS, place())
    batch = pa.RecordBatch.from_pylist([{"id": 1}, {"id": None}], schema=ORDERS.columns)
    with pytest.raises(RowError, match=r"column 'id', row 2 of a batch of .* may not be null"):
        writer.write(Batch(table="orders", rows=batch))


def test_updates_and_deletes_are_refused(sink_of: Any) -> None:
    writer = begin(sink_of(), ORDERS, place())
    kinds = pa.array([RowKind.INSERT, RowKind.DELETE], pa.int8())
    with pytest.raises(RowError, match="FilterRowKind"):
        writer.write(Batch(table="orders", rows=rows(1, 2), kinds=kinds))


# -- options -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "is missing; set it to the catalog of the table"),
        ({"iceberg.catalog.config": {"type": "hadoop", "warehouse": "/w"}}, "catalogs of type hadoop are not"),
        ({"iceberg.catalog.config": {"catalog-impl": "com.example.Own"}}, "expected one of rest.*'com.example.Own'"),
        (
            {"catalog_type": "sql", "table": "${tabel_name}"},
            r"has an unknown variable; use \$\{table_name\}",
        ),
    ],
)
def test_what_cannot_be_is_said_when_the_job_is_planned(values: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        IcebergSink(options_of(IcebergSink, {"table": "orders", **values}))


def test_options_of_a_job_for_java_are_understood() -> None:
    java = {"catalog-impl": "org.apache.iceberg.rest.RESTCatalog", "s3.path-style-access": "true", "io-impl": "x.Y"}
    sink = IcebergSink(options_of(IcebergSink, {"table": "t", "iceberg.catalog.config": java, "uri": "http://c"}))
    known = {key: sink._properties[key] for key in ("type", "uri", "s3.force-virtual-addressing")}
    assert known == {"type": "rest", "uri": "http://c", "s3.force-virtual-addressing": "false"}
    assert "io-impl" not in sink._properties


def test_a_catalog_that_cannot_be_reached_is_named_before_data_moves(sink_of: Any) -> None:
    config = {"type": "sql", "uri": "sqlite:////no/such/folder/catalog.db", "warehouse": "file:///no"}
    with pytest.raises(SinkError, match=r"the table shop.orders cannot be reached: OperationalError") as found:
        sink_of(**{"iceberg.catalog.config": config}).prepare(sink_place(place()))
    assert found.value.retryable


@pytest.mark.parametrize(
    ("kind", "held"),
    [
        (pa.timestamp("s"), "timestamp"),
        (pa.timestamp("ms"), "timestamp"),
        (pa.timestamp("ns"), "timestamp"),
        (pa.timestamp("ns", "UTC"), "timestamptz"),
        (pa.timestamp("us", "Asia/Tokyo"), "timestamptz"),
        (pa.timestamp("ms", "+01:00"), "timestamptz"),
        (pa.time32("ms"), "time"),
        (pa.time64("ns"), "time"),
        (pa.date64(), "date"),
        (pa.list_(pa.timestamp("ns")), "list<timestamp>"),
    ],
)
def test_moments_of_every_unit_and_zone_have_a_type(kind: pa.DataType, held: str) -> None:
    """What pandas, Spark and Java write was refused at the start, and ``--check`` said that it fits."""
    rows = TableSchema(table="t", columns=pa.schema([("v", kind)]))
    table = iceberg_schema(rows)
    assert str(table.find_field("v").field_type) == held
    refuse_unfit(rows, table, "t", case_sensitive=True)
