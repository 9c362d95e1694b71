"""Order of changed rows of several tables with one target: as in the log, as far as the target needs it."""

import itertools
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from seatunnel_core.connector_api.batch import Batch
from seatunnel_core.connector_api.source import OrderGroup, RowOrder
from seatunnel_core.connectors.change_data.emission import Emission
from seatunnel_core.connectors.change_data.key_codes import key_columns
from seatunnel_core.connectors.change_data.log_order import LoggedRows, LogOrder, Run, in_order
from seatunnel_core.connectors.change_data.moved_rows import cuts
from seatunnel_core.connectors.jdbc.reading import Found
from tests.connectors.mysql_cdc.driven import Reports
from tests.connectors.mysql_cdc.tables import table

KEYS: dict[str, Any] = {
    "int": lambda key: pa.array(key, pa.int32()),
    "decimal": lambda key: pa.array(key, pa.decimal128(20, 0)),
    "text": lambda key: pa.array([["Order-%d", "order %d "][at % 2] % each for at, each in enumerate(key)]),
    "null": lambda key: pa.array([each or None for each in key], pa.int64()),
}


def logged(of: Found, keys: pa.Array, events: Sequence[int]) -> LoggedRows:
    rows = pa.RecordBatch.from_arrays([keys, pa.array(events, pa.int64())], names=["id", "a"])
    batch = Batch(table=of.reading.name, rows=rows)
    numbers = np.array(events, np.int64)
    return LoggedRows(batch=batch, found=of, events=numbers, transactions=numbers, where=lambda: ())


def tables(owners: Sequence[int], keys: Sequence[int], kind: str = "int", count: int = 3) -> list[LoggedRows]:
    """A log whose event ``n`` has one row, with its table and its key."""
    made = []
    for number in range(count):
        own = [event for event, owner in enumerate(owners) if owner == number]
        made.append(logged(table(f"t{number}"), KEYS[kind]([keys[event] for event in own]), own))
    return made


def events_of(parts: Sequence[LoggedRows], runs: Sequence[Run]) -> list[int]:
    return [event for at, start, size in runs for event in parts[at].events[start : start + size].tolist()]


def test_runs_have_the_order_of_the_log() -> None:
    parts = tables([1, 1, 0, 2, 2, 1, 0], [0] * 7)
    found = list(in_order(parts, RowOrder.ALL))
    assert found == [(1, 0, 2), (0, 0, 1), (2, 0, 2), (1, 2, 1), (0, 1, 1)]
    assert events_of(parts, found) == list(range(7))


def test_tables_stay_whole_if_no_row_moves() -> None:
    parts = tables([1, 0, 1, 0], [1, 2, 3, 4], count=2)
    assert list(in_order(parts, RowOrder.KEY)) == [(0, 0, 2), (1, 0, 2)]
    assert list(in_order(parts, RowOrder.NONE)) == [(0, 0, 2), (1, 0, 2)]
    moving = tables([1, 0, 1, 0], [1, 1, 2, 3], count=2)
    assert list(in_order(moving, RowOrder.KEY)) == [(1, 0, 1), (0, 0, 2), (1, 1, 1)]
    assert list(in_order(moving, RowOrder.NONE)) == [(0, 0, 2), (1, 0, 2)]


@pytest.mark.parametrize("kind", KEYS)
def test_the_rows_of_a_key_have_the_order_of_the_log(kind: str) -> None:
    rng = random.Random(3)
    for _ in range(200):
        size = rng.randrange(1, 60)
        owners, keys = ([rng.randrange(most) for _ in range(size)] for most in (3, 8))
        parts = tables(owners, keys, kind)
        found = events_of(parts, list(in_order(parts, RowOrder.KEY)))
        assert sorted(found) == list(range(size))
        for key in set(keys):
            own = [event for event in found if keys[event] == key]
            assert own == sorted(own), (owners, keys)


def test_parts_are_as_large_as_possible() -> None:
    """A cut before the last of several rows separates all of them."""
    keys = [[pa.array([1, 2, 3])], [pa.array([1, 2, 3])]]
    found = cuts(keys, [np.array([0, 1, 2]), np.array([3, 4, 5])])
    assert found is not None
    assert found.tolist() == [3]


def test_a_key_of_several_columns() -> None:
    one = pa.record_batch({"n": [1, 2], "T": ["a", "b"]})
    other = pa.record_batch({"t": ["b", "B"], "N": [1, 2]})
    keys = [key_columns(one, ("n", "T")), key_columns(other, ("N", "t"))]
    found = cuts(keys, [np.array([0, 1]), np.array([2, 3])])
    assert found is not None
    assert found.tolist() == [3]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pa.array(["ä"]), pa.array(["a"])),
        (pa.array([0.5]), pa.array([0.5])),
    ],
    ids=["accents", "floats"],
)
def test_keys_that_the_target_may_compare_otherwise(one: pa.Array, other: pa.Array) -> None:
    assert cuts([[one], [other]], [np.array([0]), np.array([1])]) is None
    parts = [logged(table("t0"), one, [1]), logged(table("t1"), other, [0])]
    assert list(in_order(parts, RowOrder.KEY)) == [(1, 0, 1), (0, 0, 1)], "the order of the log"


class Grouped(Reports):
    """All tables except ``shop.t2`` are in one group."""

    def __init__(self, order: RowOrder) -> None:
        super().__init__()
        self._order = order

    def order_group(self, table: str) -> OrderGroup:
        return OrderGroup(name=table) if table == "shop.t2" else OrderGroup(name="shared", order=self._order)


@pytest.mark.parametrize("order", RowOrder)
def test_only_tables_with_one_target_are_interleaved(order: RowOrder) -> None:
    parts = tables([2, 1, 0, 2, 1], [1, 1, 1, 1, 9])
    found = [
        (batch.table[-1], batch.rows.column("a").to_pylist())
        for batch in Emission().changes(parts, LogOrder(Grouped(order)))
    ]
    expected = {
        RowOrder.ALL: [("1", [1]), ("0", [2]), ("1", [4]), ("2", [0, 3])],
        RowOrder.KEY: [("1", [1]), ("0", [2]), ("1", [4]), ("2", [0, 3])],
        RowOrder.NONE: [("0", [2]), ("1", [1, 4]), ("2", [0, 3])],
    }
    assert found == expected[order]


def test_without_a_job_all_tables_are_in_the_order_of_the_log() -> None:
    parts = tables([2, 1, 0, 2, 1], [1, 1, 1, 1, 9])
    found = [batch.rows.column("a").to_pylist() for batch in Emission().changes(parts, LogOrder(Reports()))]
    assert list(itertools.chain(*found)) == list(range(5))
