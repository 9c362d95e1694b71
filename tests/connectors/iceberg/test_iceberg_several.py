"""One sink ``Iceberg`` for several tables: where rows go, and what a kill between two tables' commits leaves."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog

from seatunnel_core.connector_api.sink import WriterContext
from seatunnel_core.connector_api.testing import commit, options_of
from seatunnel_core.connector_api.testing.drive import place, shipped, sink_place, through_json
from seatunnel_core.connectors.iceberg.sink import IcebergSink
from seatunnel_core.errors import CommitError, SinkError
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.retraction import Retraction
from tests.connectors.iceberg.iceberg_tables import catalog_of

ORDERS = TableSchema(table="shop.orders", columns=pa.schema([("id", pa.int64())]))
NAMES = TableSchema(table="shop.names", columns=pa.schema([("id", pa.int64()), ("name", pa.string())]))
BOTH = (ORDERS, NAMES)


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return load_catalog("default", **catalog_of(tmp_path))


@pytest.fixture
def sink_of(tmp_path: Path) -> Callable[..., IcebergSink]:
    def make(**more: Any) -> IcebergSink:
        names = {"namespace": "lake.${database_name}", "table": "${table_name}_raw"}
        return IcebergSink(options_of(IcebergSink, {"iceberg.catalog.config": catalog_of(tmp_path), **names, **more}))

    return make


def rows(schema: TableSchema, *ids: int) -> Batch:
    found = [{"id": each, "name": f"n{each}"} for each in ids]
    return Batch(table=schema.table, rows=pa.RecordBatch.from_pylist(found, schema=schema.columns))


def staged(sink: IcebergSink, *ids: int, **where: Any) -> tuple[Committable, WriterContext]:
    """A unit with the ids in both tables."""
    there = place(**where)
    sink.prepare(sink_place(there))
    sink.create_tables(BOTH, sink_place(there))
    writer = shipped(sink).open_writer(BOTH, there)
    for each in ids:
        for schema in BOTH:
            writer.write(rows(schema, each))
    found = writer.finish()
    name = f"0-{there.epoch}-{there.unit}"
    body = through_json(dict(found.body))
    return Committable(
        id=name, epoch=there.epoch, unit=there.unit, source="s", rows=found.rows, bytes=found.bytes, body=body
    ), there


def ids(catalog: Catalog) -> dict[str, list[int]]:
    tables = [catalog.load_table(("lake", "shop", f"{name}_raw")) for name in ("orders", "names")]
    return {table.name()[-1]: sorted(table.scan().to_arrow()["id"].to_pylist()) for table in tables}


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("data/**/*.parquet"))


class Killed(BaseException):
    """Nothing catches it: the process is gone."""


def killed_at(sink: IcebergSink, nth: int) -> None:
    """The process dies when the catalog is to get the nth commit."""
    catalog, calls = sink._catalog(), []
    commit_table = catalog.commit_table

    def dies(*arguments: Any, **named: Any) -> Any:
        calls.append(1)
        if len(calls) == nth:
            raise Killed
        return commit_table(*arguments, **named)

    catalog.commit_table = dies


def test_rows_go_into_the_table_of_their_table_each_with_one_commit(sink_of: Any, catalog: Catalog) -> None:
    sink = sink_of()
    units = [staged(sink, 1, 2), staged(sink, 3, unit=2)]
    commit(sink, [committable for committable, _ in units], units[0][1])
    assert ids(catalog) == {"orders_raw": [1, 2, 3], "names_raw": [1, 2, 3]}
    for name in ("orders_raw", "names_raw"):
        (snapshot,) = catalog.load_table(("lake", "shop", name)).snapshots()
        said = snapshot.summary.additional_properties
        assert (said["seatunnel.committables"], said["seatunnel.files"]) == ("0-1-1,0-1-2", "1,1")


def test_a_kill_between_the_commits_of_two_tables_publishes_each_once(sink_of: Any, catalog: Catalog) -> None:
    sink = sink_of()
    committable, there = staged(sink, 1, 2)
    killed_at(sink, 2)
    with pytest.raises(Killed):
        commit(sink, [committable], there)
    assert sorted(ids(catalog).values()) == [[], [1, 2]], "one table has its commit and the other has not"
    later = sink_of()
    later.prepare(sink_place(place(epoch=2)))
    for _ in range(2):
        commit(later, [committable], place(epoch=2), may_be_committed=True)
        assert ids(catalog) == {"orders_raw": [1, 2], "names_raw": [1, 2]}
    for name in ("orders_raw", "names_raw"):
        assert len(catalog.load_table(("lake", "shop", name)).snapshots()) == 1, "a repeated commit leaves no snapshot"


def test_an_engine_that_was_replaced_between_two_commits_stops_at_the_second(sink_of: Any, catalog: Catalog) -> None:
    old, new = sink_of(), sink_of()
    committable, there = staged(old, 1)
    opened, calls = old._catalog(), []
    commit_table = opened.commit_table

    def paused(*arguments: Any, **named: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            commit(new, [committable], place(epoch=2), may_be_committed=True)
        return commit_table(*arguments, **named)

    opened.commit_table = paused
    with pytest.raises(CommitError, match="another engine has taken over this job"):
        commit(old, [committable], there)
    assert ids(catalog) == {"orders_raw": [1], "names_raw": [1]}


def test_a_sweep_by_another_process_finds_the_tables_by_their_names(
    sink_of: Any, catalog: Catalog, tmp_path: Path
) -> None:
    sink = sink_of()
    kept, _ = staged(sink, 1)
    staged(sink, 2, unit=2)
    catalog.create_namespace("lake.other")
    catalog.create_table("lake.other.names", NAMES.columns)
    assert len(files(tmp_path)) == 4
    later = sink_place(place(epoch=2))
    assert sink_of().sweep(later, frozenset({kept.id}), final=False) == 2
    commit(sink_of(), [kept], place(epoch=2), may_be_committed=True)
    assert ids(catalog) == {"orders_raw": [1], "names_raw": [1]}
    assert sink_of().sweep(later, frozenset(), final=True) == 0


def test_rows_of_all_tables_are_taken_back(sink_of: Any, catalog: Catalog) -> None:
    for unit in (1, 2):
        committable, there = staged(sink_of(), unit, unit=unit)
        commit(sink_of(), [committable], there)
    back = Retraction(epoch=2, base_epoch=1, next_units={0: 2}, in_flight={}, named=frozenset())
    assert sink_of().roll_back(sink_place(place(epoch=2)), back) == 2
    assert ids(catalog) == {"orders_raw": [1], "names_raw": [1]}


def test_the_save_mode_acts_on_the_tables_of_the_rows_only(sink_of: Any, catalog: Catalog) -> None:
    catalog.create_namespace("lake.shop")
    for name in ("orders_raw", "others_raw"):
        catalog.create_table(("lake", "shop", name), ORDERS.columns).append(
            pa.Table.from_batches([rows(ORDERS, 7).rows])
        )
    sink = sink_of(data_save_mode="DROP_DATA")
    sink.prepare(sink_place(place()))
    sink.apply_save_mode(sink_place(place()))
    sink.create_tables(BOTH, sink_place(place()))
    assert ids(catalog) == {"orders_raw": [], "names_raw": []}
    assert catalog.load_table("lake.shop.others_raw").scan().count() == 1


def test_two_tables_of_the_rows_may_go_into_one(sink_of: Any) -> None:
    sink, wide_first = sink_of(table="all"), (NAMES, ORDERS)
    sink.create_tables(wide_first, sink_place(place()))
    writer = shipped(sink).open_writer(wide_first, place())
    for number, schema in enumerate(BOTH):
        writer.write(rows(schema, number))
    body = writer.finish().body
    (part,) = body["tables"]
    assert len(part["files"]) == 1
    assert part["table"] == ["lake", "shop", "all"]


@pytest.mark.parametrize(
    ("more", "table", "goes_to"),
    [
        ({}, "shop.orders", ("lake", "shop", "orders_raw")),
        ({}, "orders", ("lake", "orders_raw")),
        ({"namespace": "${database_name:none}"}, "orders", ("none", "orders_raw")),
        ({"namespace": "${schema_full_name}", "table": "${table_name}"}, "a.b.c", ("a", "b", "c")),
    ],
)
def test_a_level_that_a_table_lacks_is_left_out_and_found_again(
    sink_of: Any, catalog: Catalog, more: dict[str, str], table: str, goes_to: tuple[str, ...]
) -> None:
    sink, schema = sink_of(**more), TableSchema(table=table, columns=ORDERS.columns)
    sink.create_tables([schema], sink_place(place()))
    assert catalog.load_table(goes_to).name() == goes_to
    writer = shipped(sink).open_writer([schema], place())
    writer.write(Batch(table=table, rows=rows(ORDERS, 1).rows))
    writer.finish()
    assert sink_of(**more).sweep(sink_place(place(epoch=2)), frozenset(), final=False) == 1


@pytest.mark.parametrize(
    ("more", "table"),
    [
        ({"namespace": "${database_name}"}, "orders"),
        ({"table": "${database_name}"}, "orders"),
        ({}, "shop.a/../../b"),
        ({"table": "${table_name}"}, "shop."),
    ],
)
def test_a_table_that_makes_no_name_is_refused_by_a_check(sink_of: Any, more: dict[str, str], table: str) -> None:
    with pytest.raises(SinkError, match="which is not a table name with a namespace"):
        sink_of(**more).check_schema(TableSchema(table=table, columns=ORDERS.columns))
