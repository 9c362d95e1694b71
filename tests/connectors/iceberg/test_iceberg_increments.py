"""Increments of the source ``Iceberg``: which rows one job after the other reads, by the snapshots of the table."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.types import LongType

from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connector_api.testing import plan, read
from seatunnel_core.errors import SourceError, UsageError
from seatunnel_core.work.window import Cursor, Window
from tests.connectors.iceberg.iceberg_tables import table_in
from tests.connectors.iceberg.test_iceberg_merging import MERGE, batch, run
from tests.connectors.iceberg.test_iceberg_source import source_of

pytestmark = pytest.mark.torture  # each makes several commits


class Nightly:
    """The table ``orders``, to which jobs add, and the job that reads it each night."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cursor: Cursor | None = None
        self._jobs = 0

    def add(self, *ids: int, **options: Any) -> int:
        """Add rows, and return the id of the snapshot."""
        self._jobs += 1
        run(self.folder, [batch(*((number, "mo", number) for number in ids))], job=f"job{self._jobs}", **options)
        return self.newest

    @property
    def newest(self) -> int:
        return int(table_in(self.folder, "orders").current_snapshot().snapshot_id)

    def night(self, between: Callable[[], Any] = lambda: None, **incremental: Any) -> list[int]:
        source = source_of(self.folder, incremental={"column": "snapshot", **incremental})
        window = Window.from_record(source.window(self.cursor).record())
        between()
        source.read_window(window)
        rows = read(source, plan(source, PlanningContext(parallelism=2)))
        self.cursor = window.end
        return sorted(row["id"] for row in rows)


@contextmanager
def metadata(folder: Path) -> Iterator[dict[str, Any]]:
    """The present metadata of the table, to be changed as no commit of pyiceberg changes it."""
    file = Path(table_in(folder, "orders").metadata_location.removeprefix("file://"))
    found = json.loads(file.read_text())
    yield found
    file.write_text(json.dumps(found))


@pytest.fixture
def orders(tmp_path: Path) -> Nightly:
    run(tmp_path)
    return Nightly(tmp_path)


def test_each_night_has_the_rows_that_were_added_since(orders: Nightly) -> None:
    assert orders.night() == [], "the table is empty"
    orders.add(1, 2)
    assert orders.night() == [1, 2]
    assert orders.night() == []
    orders.add(3)
    orders.add(1, 4)
    assert orders.night(lambda: orders.add(5)) == [1, 3, 4], "5 came after the job had begun"
    assert orders.night() == [5]
    assert orders.cursor is not None
    assert orders.cursor.value == str(orders.newest)


def test_a_table_that_has_no_snapshot_yet_has_no_cursor(tmp_path: Path) -> None:
    orders = Nightly(tmp_path)
    run(tmp_path)
    table_in(tmp_path, "orders")
    assert orders.night(lambda: orders.add(1)) == []
    assert orders.night() == [1]


def test_the_first_night_has_the_rows_as_they_are_after_merges(orders: Nightly) -> None:
    orders.add(1, 2, **MERGE)
    orders.add(2, 3, **MERGE)
    assert orders.night() == [1, 2, 3]
    orders.add(4)
    assert orders.night() == [4]


def test_the_first_night_can_begin_at_a_snapshot(orders: Nightly) -> None:
    orders.add(1)
    start = orders.add(2)
    orders.add(3)
    assert orders.night(start=str(start)) == [2, 3]
    orders.add(4)
    assert orders.night(start=str(start)) == [4]
    orders.cursor = None
    oldest = table_in(orders.folder, "orders").snapshots()[0].snapshot_id
    with pytest.raises(
        SourceError, match=rf"the content of shop.orders before {oldest}, its oldest snapshot, is unknown"
    ):
        orders.night(start=str(oldest))
    with pytest.raises(SourceError, match=r"start: shop\.orders has no snapshot 7, or the snapshot has expired"):
        orders.night(start="7")


def merged(orders: Nightly) -> int:
    return orders.add(1, **MERGE)


def deleted(orders: Nightly) -> int:
    table_in(orders.folder, "orders").delete("id = 1")
    return orders.newest


@pytest.mark.parametrize(("change", "named"), [(merged, "overwrite"), (deleted, "delete")])
def test_rows_that_were_changed_or_removed_since_are_refused(
    orders: Nightly, change: Callable[[Nightly], int], named: str
) -> None:
    orders.add(1)
    orders.night()
    orders.add(2)
    changing = change(orders)
    newest = orders.add(3)
    with pytest.raises(SourceError, match=rf"snapshot {changing} of shop\.orders \({named}\) changed or rem") as told:
        orders.night()
    assert f"seatunnel state set NAME SOURCE {newest}" in str(told.value)
    orders.cursor = Cursor(value=str(newest))
    orders.add(4)
    assert orders.night() == [4]


def test_files_that_were_compacted_bring_no_row_again(orders: Nightly) -> None:
    """Iceberg calls a snapshot ``replace`` that has the same rows in other files; pyiceberg makes none."""
    orders.add(1)
    orders.night()
    known = orders.add(2)
    table_in(orders.folder, "orders").overwrite(table_in(orders.folder, "orders").scan().to_arrow())
    with metadata(orders.folder) as found:
        at = [each["snapshot-id"] for each in found["snapshots"]].index(known)
        for snapshot in found["snapshots"][at + 1 :]:
            snapshot["summary"]["operation"] = "replace"
    orders.add(3)
    assert orders.night() == [2, 3]
    orders.cursor = None
    assert orders.night() == [1, 2, 3]


def test_the_snapshot_of_the_cursor_may_have_expired_and_no_later_one(orders: Nightly) -> None:
    """Java leaves the id of the parent where it removes a snapshot; pyiceberg does not, and then it is refused."""
    last = orders.add(1)
    orders.night()
    second = orders.add(2)
    orders.add(3)
    with metadata(orders.folder) as found:
        found["snapshots"] = [each for each in found["snapshots"] if each["snapshot-id"] != last]
    assert orders.night() == [2, 3]
    orders.cursor = Cursor(value=str(last))
    table_in(orders.folder, "orders").maintenance.expire_snapshots().by_ids([second]).commit()
    with pytest.raises(SourceError, match="they have expired"):
        orders.night()


def test_a_cursor_that_is_no_snapshot_behind_the_newest_one_is_refused(orders: Nightly) -> None:
    first = orders.add(1)
    orders.add(2)
    orders.night()
    table = table_in(orders.folder, "orders")
    table.manage_snapshots().set_current_snapshot(snapshot_id=first).commit()
    with pytest.raises(SourceError, match=r"some later snapshots up to .*, or the table was rolled back"):
        orders.night()
    orders.cursor = Cursor(value="yesterday")
    with pytest.raises(SourceError, match=r"'yesterday' is not a snapshot ID of shop\.orders; write"):
        orders.night()


def test_rows_are_read_by_the_present_columns(orders: Nightly) -> None:
    orders.night()
    orders.add(1)
    with table_in(orders.folder, "orders").update_schema() as update:
        update.rename_column("day", "weekday")
        update.update_column("n", LongType())
    assert orders.night() == [1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"incremental": {"column": "id"}}, "by snapshot, not by 'id'; set column to snapshot"),
        ({"incremental": {"column": "snapshot", "lag": "5m"}}, "key, nulls and lag apply to columns"),
        ({"incremental": {"column": "snapshot"}, "use_snapshot_id": 1}, "'use_snapshot_id' and 'incremental' both"),
        ({"use_snapshot_timestamp": 1, "use_snapshot_id": 1}, "'use_snapshot_id' and 'use_snapshot_timestamp' both"),
    ],
)
def test_what_does_not_go_together_is_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        source_of(tmp_path, **options)
