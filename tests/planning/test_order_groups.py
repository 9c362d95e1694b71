"""Groups of tables with one target, from the options of sinks and transforms."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve

from seatunnel_core.connector_api.sink import RowOrder, Sink
from seatunnel_core.connector_api.source import Source
from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.connectors.console import ConsoleSink
from seatunnel_core.connectors.duckdb.sink import DuckDBSink
from seatunnel_core.connectors.file.sink import LocalFileSink
from seatunnel_core.connectors.iceberg.sink import IcebergSink
from seatunnel_core.connectors.jdbc.sink import JdbcSink
from seatunnel_core.connectors.kafka.sink import KafkaSink
from seatunnel_core.connectors.postgres_cdc.source import PostgresCdcSource
from seatunnel_core.connectors.redis.sink import RedisSink
from seatunnel_core.planning.order_groups import order_groups
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.spark.operator_chain import OperatorChain, Step, Target, build_chain
from seatunnel_core.transforms.filter_row_kind import FilterRowKind
from seatunnel_core.transforms.metadata import Metadata
from seatunnel_core.transforms.python import PythonFunction
from seatunnel_core.transforms.table_rename import TableRename
from tests.transforms.tables import made

COLUMNS = pa.schema([("id", pa.int64()), ("code", pa.string()), ("n", pa.int64())])
ALL, KEY, NONE = RowOrder.ALL, RowOrder.KEY, RowOrder.NONE
SHARDS = ("shop.public.orders_1", "shop.public.orders_2")


def table(name: str, key: tuple[str, ...] = ("id",)) -> TableSchema:
    return TableSchema(table=name, columns=COLUMNS, primary_key=key)


SCHEMAS = (*map(table, SHARDS), table("shop.public.people"), table("shop.more.People"))


def same(rows: pa.RecordBatch) -> pa.RecordBatch:
    return rows


class Log(Source):
    """A source of changes."""

    identifier = "Log"
    declared = ()
    ordered = True
    enumerate: Any = None
    read: Any = None


class Tables(Log):
    """A source without an order."""

    ordered = False


class InOrder(Sink):
    """A sink that needs the order of all rows."""

    identifier = "InOrder"
    declared = ()
    needs_order = True
    commit: Any = None
    open_writer: Any = None


Log.__abstractmethods__ = Tables.__abstractmethods__ = InOrder.__abstractmethods__ = frozenset()


def duckdb(**options: Any) -> Sink:
    return DuckDBSink(options_of(DuckDBSink, {"path": "/data/a.duckdb", **options}))


def jdbc(**options: Any) -> Sink:
    return JdbcSink(options_of(JdbcSink, {"url": "jdbc:sqlite:/data/a.db", **options}))


def iceberg(**options: Any) -> Sink:
    catalog = {"type": "sql", "uri": "sqlite:////data/c.db", "warehouse": "file:///data/w"}
    return IcebergSink(options_of(IcebergSink, {"iceberg.catalog.config": catalog, "namespace": "s", **options}))


def kafka(topic: str) -> Sink:
    return KafkaSink(options_of(KafkaSink, {"bootstrap.servers": "k:9092", "topic": topic, "format": "json"}))


def redis(key: str, data_type: str = "hash") -> Sink:
    options = {"host": "r", "port": 6379, "key": key, "data_type": data_type, "support_custom_key": True}
    return RedisSink(options_of(RedisSink, options))


def files(path: str) -> Sink:
    return LocalFileSink(options_of(LocalFileSink, {"path": path, "file_format_type": "json"}))


def step(name: str, transform: Transform, *inputs: str) -> Step:
    return Step(name=name, transform=transform, inputs=inputs or ("log",))


def chain(
    sinks: Mapping[str, tuple[Sink, tuple[str, ...]]],
    *steps: Step,
    schemas: tuple[TableSchema, ...] = SCHEMAS,
    source: type[Source] = Log,
) -> OperatorChain:
    targets = [
        Target(name=name, ordinal=at, sink=sink, inputs=inputs)
        for at, (name, (sink, inputs)) in enumerate(sinks.items())
    ]
    return build_chain(
        job_id="job",
        pipeline_id=1,
        source_name="log",
        source_ordinal=0,
        source=source(options_of(source, {})),
        schemas=schemas,
        steps=steps,
        targets=targets,
    )


def groups(sink: Sink, *steps: Step, **how: Any) -> list[tuple[RowOrder, set[str]]]:
    """Return the order and the tables of each group, for a sink after the last step."""
    found = order_groups(chain({"sink": (sink, (steps[-1].name if steps else "log",))}, *steps, **how))
    names = dict.fromkeys(group.name for group in found.values())
    return [
        (next(group.order for group in found.values() if group.name == name),
         {table.rpartition(".")[2] for table, group in found.items() if group.name == name})
        for name in names
    ]  # fmt: skip


EVERY = {"orders_1", "orders_2", "people", "People"}


@pytest.mark.parametrize(
    ("sink", "order"),
    [
        (duckdb(table="orders", write_mode="merge"), KEY),
        (duckdb(table="orders", write_mode="merge", merge_key="code"), ALL),
        (duckdb(table="orders"), NONE),
        (iceberg(table="orders", write_mode="merge"), KEY),
        (iceberg(table="orders"), NONE),
        (jdbc(generate_sink_sql=True, table="orders"), KEY),
        (jdbc(generate_sink_sql=True, table="orders", primary_keys=["id"], is_exactly_once=True), KEY),
        (jdbc(generate_sink_sql=True, table="orders", primary_keys=["id", "n"]), ALL),
        (jdbc(write_mode="append", table="orders"), NONE),
        (jdbc(query="INSERT INTO orders VALUES (?, ?, ?)"), ALL),
        (files("/data/out"), KEY),
        (ConsoleSink(options_of(ConsoleSink, {})), KEY),
        (kafka("orders"), KEY),
        (kafka("${code}"), KEY),
        (redis("o:${id}"), KEY),
        (redis("o:${code}"), ALL),
        (redis("all", "list"), ALL),
        (InOrder(options_of(InOrder, {})), ALL),
    ],
)
def test_one_target_for_all_tables(sink: Sink, order: RowOrder) -> None:
    assert groups(sink) == [(order, EVERY)]


@pytest.mark.parametrize(
    "sink",
    [
        duckdb(table="${schema_name}_${table_name}", write_mode="merge"),
        jdbc(generate_sink_sql=True, table="${schema_name}_${table_name}"),
        iceberg(table="${schema_name}_${table_name}", write_mode="merge"),
        files("/data/out/${schema_name}/${table_name}"),
        redis("${schema_name}:${table_name}:${id}"),
        redis("${schema_name}:${table_name}", "list"),
    ],
)
def test_a_target_for_each_table(sink: Sink) -> None:
    assert groups(sink) == []


def test_tables_whose_names_differ_by_case_or_schema() -> None:
    """Many databases ignore the case of names."""
    assert groups(duckdb(table="${table_name}", write_mode="merge")) == [(KEY, {"people", "People"})]
    assert groups(files("/data/out/${table_name}")) == [(KEY, {"people", "People"})]


def test_transforms_that_rename_tables() -> None:
    rename = step("named", made(TableRename, replacements_with_regex=[{"replace_from": "_[0-9]+$", "replace_to": ""}]))
    sink = duckdb(table="${schema_name}_${table_name}", write_mode="merge")
    assert groups(sink, rename) == [(KEY, {"orders_1", "orders_2"})]
    more = step("more", made(Metadata, metadata_fields={"Table": "origin"}), "named")
    assert groups(sink, rename, more, step("kinds", made(FilterRowKind, include_kinds=["INSERT"]), "more")) == [
        (KEY, {"orders_1", "orders_2"})
    ]


def test_after_transforms_that_compute_rows_the_order_of_all_rows_matters() -> None:
    """They may change keys."""
    sink = duckdb(table="orders", write_mode="merge")
    computing = step("computed", made(PythonFunction, function=same))
    assert groups(sink, computing) == [(ALL, EVERY)]
    kinds = step("kinds", made(FilterRowKind, include_kinds=["INSERT"]), "computed")
    assert groups(sink, computing, kinds) == [(ALL, EVERY)]


def test_several_sinks_unite_their_groups() -> None:
    own = duckdb(table="${schema_name}_${table_name}", write_mode="merge")
    by_schema = duckdb(table="${schema_name}", write_mode="merge", merge_key="code")
    by_name = duckdb(table="${table_name}", write_mode="merge")
    found = order_groups(chain({"own": (own, ("log",)), "a": (by_schema, ("log",)), "b": (by_name, ("log",))}))
    assert {group.order for group in found.values()} == {ALL}
    assert len({group.name for group in found.values()}) == 1
    assert found.keys() == {schema.table for schema in SCHEMAS}
    assert order_groups(chain({"own": (own, ("log",))})) == {}


def test_tables_with_different_keys() -> None:
    """The key of the sink is that of one of the tables only."""
    schemas = (SCHEMAS[0], table(SHARDS[1], ("code",)))
    assert groups(duckdb(table="o", write_mode="merge", merge_key="id"), schemas=schemas) == [
        (ALL, {"orders_1", "orders_2"})
    ]
    other = evolve(SCHEMAS[1], columns=pa.schema([COLUMNS.field(2), COLUMNS.field(0)]))
    assert groups(duckdb(table="o", write_mode="merge"), schemas=(SCHEMAS[0], other)) == [
        (KEY, {"orders_1", "orders_2"})
    ]


@pytest.mark.parametrize("sink", [kafka("changes"), ConsoleSink(options_of(ConsoleSink, {}))])
def test_a_sink_of_messages_needs_no_order_of_unrelated_tables(sink: Sink) -> None:
    """Otherwise, each change of a row would be one batch."""
    others = [pa.schema([("id", pa.int64()), (name, pa.string())]) for name in ("total", "city")]
    schemas = [evolve(table(f"shop.{at}"), columns=columns) for at, columns in enumerate(others)]
    lines = evolve(table("shop.lines", ("id", "code")), columns=COLUMNS)
    assert groups(sink, schemas=(*schemas, lines, SCHEMAS[0])) == []
    assert groups(sink, schemas=(*schemas, *SCHEMAS[:2])) == [(KEY, {"orders_1", "orders_2"})]
    keyless = tuple(evolve(each, primary_key=()) for each in SCHEMAS[:2])
    assert groups(sink, schemas=keyless) == [(NONE, {"orders_1", "orders_2"})]


@pytest.mark.parametrize(
    ("one", "other", "order"),
    [
        (pa.int32(), pa.int64(), KEY),
        (pa.uint8(), pa.int64(), KEY),
        (pa.uint64(), pa.uint64(), KEY),
        (pa.string(), pa.string(), KEY),
        (pa.uint64(), pa.int64(), ALL),
        (pa.int64(), pa.string(), ALL),
        (pa.decimal128(10), pa.int64(), ALL),
    ],
)
def test_only_keys_of_comparable_types_are_compared(one: pa.DataType, other: pa.DataType, order: RowOrder) -> None:
    """The deletion of a row that has moved was emitted if the types of the keys differed."""
    schemas = tuple(
        evolve(each, columns=COLUMNS.set(0, pa.field("id", type)))
        for each, type in zip(SCHEMAS, (one, other), strict=False)
    )
    found = order_groups(chain({"sink": (MERGED, ("log",))}, schemas=schemas)).values()
    assert {(group.order, group.may_move) for group in found} == {(order, order is KEY)}


def test_rows_that_are_matched_as_a_whole() -> None:
    schemas = tuple(evolve(each, primary_key=()) for each in SCHEMAS[:2])
    sink = duckdb(table="o", write_mode="merge", match_whole_rows=True)
    assert groups(sink, schemas=schemas) == [(ALL, {"orders_1", "orders_2"})]


@pytest.mark.parametrize(
    ("sinks", "replaces"),
    [
        ([duckdb(table="orders", write_mode="merge")], True),
        ([duckdb(table="orders", write_mode="merge", merge_key="code")], True),
        ([jdbc(generate_sink_sql=True, table="orders")], True),
        ([jdbc(generate_sink_sql=True, table="orders", enable_upsert=False)], False),
        ([duckdb(table="orders", write_mode="merge", keep_history=True)], False),
        ([duckdb(table="orders")], False),
        ([duckdb(table="orders", write_mode="merge"), files("/data/${table_name}")], False),
        ([duckdb(table="orders", write_mode="merge"), iceberg(table="${table_name}", write_mode="merge")], True),
    ],
)
def test_rows_may_arrive_again_if_they_are_replaced_everywhere(sinks: list[Sink], replaces: bool) -> None:
    made = chain({f"sink{at}": (sink, ("log",)) for at, sink in enumerate(sinks)}, schemas=SCHEMAS[:2])
    assert {group.replaces_rows for group in order_groups(made).values()} == {replaces}


def test_rows_of_tables_with_different_columns_do_not_move() -> None:
    """Each of the tables may have some columns of a row."""
    other = evolve(SCHEMAS[1], columns=pa.schema([COLUMNS.field(0), ("more", pa.int64())]))
    sink = {"sink": (duckdb(table="orders", write_mode="merge", merge_key="id"), ("log",))}
    for schema, same in ((other, False), (SCHEMAS[1], True)):
        found = order_groups(chain(sink, schemas=(SCHEMAS[0], schema))).values()
        assert {(each.may_move, each.replaces_rows) for each in found} == {(same, same)}


MERGED = duckdb(table="orders", write_mode="merge")
OTHER_CASE = tuple(table(f"shop.{schema}.{name}") for schema, name in (("a", "o"), ("b", "O")))


@pytest.mark.parametrize(
    ("sinks", "schemas", "expected"),
    [
        ([MERGED], SCHEMAS[:2], True),
        ([MERGED, jdbc(generate_sink_sql=True, table="all")], SCHEMAS[:2], True),
        ([MERGED, duckdb(table="${table_name}", write_mode="merge")], SCHEMAS[:2], False),
        ([MERGED, iceberg(table="changes")], SCHEMAS[:2], False),
        ([MERGED, files("/data/${table_name}")], SCHEMAS[:2], False),
        ([MERGED, kafka("changes")], SCHEMAS[:2], False),
        ([kafka("changes")], SCHEMAS[:2], False),
        ([redis("${id}")], SCHEMAS[:2], True),
        ([redis("${id}", "list")], SCHEMAS[:2], False),
        ([duckdb(table="${table_name}", write_mode="merge")], OTHER_CASE, False),
    ],
    ids=[
        "one",
        "two",
        "a target for each table",
        "all changes",
        "files",
        "copy and messages",
        "messages",
        "hashes",
        "lists",
        "case",
    ],
)
def test_deletions_are_omitted_only_if_no_other_target_needs_them(
    sinks: list[Sink], schemas: tuple[TableSchema, ...], expected: bool
) -> None:
    """A row that moved to another table remained in the copy of its former table."""
    made = chain({f"sink{at}": (sink, ("log",)) for at, sink in enumerate(sinks)}, schemas=schemas)
    assert {group.may_move for group in order_groups(made).values()} == {expected}


def test_rows_without_a_key_do_not_arrive_again() -> None:
    """They would be added twice."""
    keyless = tuple(evolve(each, primary_key=()) for each in SCHEMAS[:2])
    for sink in (jdbc(generate_sink_sql=True, table="o"), duckdb(table="o", write_mode="merge", match_whole_rows=True)):
        made = chain({"sink": (sink, ("log",))}, schemas=keyless)
        assert {group.replaces_rows for group in order_groups(made).values()} == {False}


def test_sources_without_an_order_and_single_tables() -> None:
    sink = {"sink": (duckdb(table="orders", write_mode="merge"), ("log",))}
    assert order_groups(chain(sink, source=Tables)) == {}
    assert order_groups(chain(sink, schemas=SCHEMAS[:1])) == {}


def test_sources_of_changes_are_ordered() -> None:
    assert PostgresCdcSource.ordered
