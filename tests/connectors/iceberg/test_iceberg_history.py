"""How far back a commit looks for itself: no further than needed, and never too little."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.manifest import ManifestFile

from seatunnel_core.connector_api.sink import WriterContext
from seatunnel_core.connector_api.testing import commit, stage
from seatunnel_core.connector_api.testing.drive import place, sink_place
from seatunnel_core.connectors.iceberg.sink import IcebergSink
from seatunnel_core.errors import CommitError
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.work.committable import Committable
from tests.connectors.iceberg.iceberg_tables import orders_sink, shop_in

ORDERS = TableSchema(table="orders", columns=pa.schema([("id", pa.int64())]))


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return shop_in(tmp_path)


@pytest.fixture
def sink_of(tmp_path: Path) -> Callable[..., IcebergSink]:
    return partial(orders_sink, tmp_path)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sequence numbers of the manifests whose entries are read."""
    numbers: list[int] = []
    original = ManifestFile.fetch_manifest_entry

    def fetch(self: ManifestFile, *arguments: Any, **options: Any) -> Any:
        numbers.append(self.sequence_number)
        return original(self, *arguments, **options)

    monkeypatch.setattr(ManifestFile, "fetch_manifest_entry", fetch)
    return numbers


def rows(*ids: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"id": each} for each in ids], schema=ORDERS.columns)


def staged(sink: IcebergSink, unit: int, **where: Any) -> tuple[Committable, WriterContext]:
    """One row whose id is the unit's number."""
    there = place(unit=unit, **where)
    sink.prepare(sink_place(there))
    return stage(sink, ORDERS, [rows(unit)], there), there


def begun(sink: IcebergSink, catalog: Catalog) -> Any:
    """A table in which others have committed three times, and of which the oldest snapshots were removed."""
    sink.create_tables([ORDERS], sink_place(place()))
    table = catalog.load_table("shop.orders")
    for number in (101, 102, 103):
        table.append(pa.Table.from_batches([rows(number)]))
    forget(table, 2)
    return table


def forget(table: Any, count: int) -> None:
    """Remove the oldest snapshots, as maintenance does."""
    table.refresh()
    for snapshot in table.snapshots()[:count]:
        table.maintenance.expire_snapshots().by_id(snapshot.snapshot_id).commit()


def ids(catalog: Catalog) -> list[int]:
    return sorted(catalog.load_table("shop.orders").scan().to_arrow()["id"].to_pylist())


def test_snapshots_that_were_removed_before_the_epoch_cost_nothing(
    sink_of: Any, catalog: Catalog, read: list[int]
) -> None:
    begun(sink_of(), catalog)
    sink = sink_of()
    first, there = staged(sink, 1)
    second, _ = staged(sink, 2)
    read.clear()
    commit(sink, [first], there)
    commit(sink, [first, second], there, may_be_committed=True)
    commit(sink, [first, second], there, may_be_committed=True)
    assert read == []
    assert ids(catalog) == [1, 2, 101, 102, 103]


def test_where_snapshots_are_missing_since_only_newer_manifests_are_read(
    sink_of: Any, catalog: Catalog, read: list[int]
) -> None:
    table = begun(sink_of(), catalog)
    first, there = staged(sink_of(), 1)
    second, _ = staged(sink_of(), 2)
    commit(sink_of(), [first], there)
    table.refresh().append(pa.Table.from_batches([rows(104)]))
    forget(table, 2)
    read.clear()
    commit(sink_of(), [second], there)
    assert read == [], "what nobody has tried to commit is not looked for"
    commit(sink_of(), [first, second], place(epoch=2), may_be_committed=True)
    assert sorted(read) == [4, 6], "1 to 3 are older than the files, and 5 is another writer's"
    assert ids(catalog) == [1, 2, 101, 102, 103, 104]


def test_a_commit_that_main_was_set_back_from_is_not_repeated(sink_of: Any, catalog: Catalog) -> None:
    table = begun(sink_of(), catalog)
    committable, there = staged(sink_of(), 1)
    commit(sink_of(), [committable], there)
    table.refresh().manage_snapshots().rollback_to_snapshot(table.snapshots()[0].snapshot_id).commit()
    commit(sink_of(), [committable], place(epoch=2), may_be_committed=True)
    assert ids(catalog) == [101, 102, 103], "who set the table back wants it so"
    with pytest.raises(CommitError, match="as committed before its first commit"):
        commit(sink_of(), [committable], there)


def test_a_table_that_was_made_anew_is_searched_from_its_beginning(sink_of: Any, catalog: Catalog) -> None:
    begun(sink_of(), catalog)
    committable, there = staged(sink_of(), 1)
    catalog.drop_table("shop.orders")
    catalog.create_table("shop.orders", ORDERS.columns)
    for epoch in (1, 2):
        commit(sink_of(), [committable], place(epoch=epoch), may_be_committed=True)
    table = catalog.load_table("shop.orders")
    for number in range(4):
        table.append(pa.Table.from_batches([rows(105 + number)]))
    commit(sink_of(), [committable], place(epoch=3), may_be_committed=True)
    assert ids(catalog) == [1, 105, 106, 107, 108]
    assert there.epoch == 1


def test_a_table_of_the_first_format_which_numbers_nothing_is_searched_as_a_whole(
    sink_of: Any, catalog: Catalog
) -> None:
    sink = sink_of(**{"iceberg.table.auto-create-props": {"format-version": "1"}})
    first, there = staged(sink, 1)
    commit(sink, [first], there)
    table = catalog.load_table("shop.orders")
    assert table.metadata.format_version == 1
    second, _ = staged(sink, 2)
    commit(sink, [second], there)
    forget(table, 1)
    commit(sink_of(), [first, second], place(epoch=2), may_be_committed=True)
    assert ids(catalog) == [1, 2]
