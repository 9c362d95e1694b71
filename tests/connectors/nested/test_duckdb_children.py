"""Child tables of merged rows in DuckDB: the children of a row that is merged again are replaced with it."""

from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.testing import commit, stage
from seatunnel_core.connector_api.testing.drive import place, sink_place
from seatunnel_core.errors import CommitError, SinkError
from seatunnel_core.rows.batch import TableSchema
from tests.connectors.duckdb.duckdb_file import asked, changed, duckdb_sink
from tests.connectors.nested.nested_orders import MERGE, lines, order, staged
from tests.connectors.nested.nested_orders import state as state_of


def state(folder: Path) -> list[Any]:
    return state_of(partial(asked, folder))


def night(folder: Path, run: str, *units: list[dict[str, Any]], again: bool = False, **options: Any) -> None:
    """A job with some units in one commit, which is repeated if ``may_be_committed``."""
    sink, here = duckdb_sink(folder, **{**MERGE, **options}), sink_place(place(job_id=run))
    sink.prepare(here)
    sink.apply_save_mode(here)
    done = [staged(sink, run, rows, unit) for unit, rows in enumerate(units, 1)]
    sink.commit(done, here, may_be_committed=False)
    if again:
        sink.commit(done, here, may_be_committed=True)


def test_children_of_a_merged_row_are_replaced(tmp_path: Path) -> None:
    night(tmp_path, "one", [order(1, "a", "b"), order(2, "c"), order(3, "d")])
    assert state(tmp_path) == [(1, lines("a", "b")), (2, lines("c")), (3, lines("d"))]
    night(tmp_path, "two", [order(1, "a"), order(2), order(4, "e", "f")], again=True)
    assert state(tmp_path) == [(1, lines("a")), (2, []), (3, lines("d")), (4, lines("e", "f"))]


@pytest.mark.parametrize("apart", [True, False])
def test_of_a_row_that_comes_twice_the_children_of_the_last_version_stay(tmp_path: Path, apart: bool) -> None:
    rows = [order(1, "a", "b", "c"), order(2, "x"), order(1, "z")]
    night(tmp_path, "one", *([[row] for row in rows] if apart else [rows]))
    assert state(tmp_path) == [(1, lines("z")), (2, lines("x"))]
    night(tmp_path, "two", [order(1, "z")], [order(1, "z")])
    assert state(tmp_path) == [(1, lines("z")), (2, lines("x"))]


@pytest.mark.parametrize("gone", [None, [], "absent"])
def test_a_list_that_became_empty_or_null_in_every_row_has_no_children(tmp_path: Path, gone: Any) -> None:
    """The rows of such a night have no list, and so no child table of which the sink could know."""
    night(tmp_path, "one", [order(1, "a"), order(2, "b")])
    night(tmp_path, "two", [{"id": 1} if gone == "absent" else {"id": 1, "lines": gone}])
    assert state(tmp_path) == [(1, []), (2, lines("b"))]
    night(tmp_path, "three", [order(1, "c"), order(3)])
    assert state(tmp_path) == [(1, lines("c")), (2, lines("b")), (3, [])]


def test_the_same_version_that_is_read_again_has_its_children_once(tmp_path: Path) -> None:
    for run in ("one", "two"):
        sink, here = duckdb_sink(tmp_path, **MERGE), sink_place(place(job_id=run))
        sink.prepare(here)
        sink.commit([staged(sink, run, [order(1, "a", "b")])], here, may_be_committed=False)
    assert state(tmp_path) == [(1, lines("a", "b"))]


def test_child_tables_grow(tmp_path: Path) -> None:
    night(tmp_path, "one", [{"id": 1, "lines": []}])
    night(tmp_path, "two", [{"id": 2, "lines": [{"sku": "a"}]}])
    night(tmp_path, "three", [{"id": 3, "lines": [{"sku": "b", "n": 7}], "note": "x"}])
    found = asked(
        tmp_path,
        "SELECT id, note, sku, n FROM orders LEFT JOIN orders__lines AS l ON l._parent_id = orders._row_id ORDER BY 1",
    )
    assert found == [(1, None, None, None), (2, None, "a", None), (3, "x", "b", 7)]


def test_children_that_no_merge_would_find_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(SinkError, match=r"same schema as main.orders_v1, with a name that begins with orders_v1__"):
        night(tmp_path, "one", [order(1, "a")], table="${table_name}_v1")
    with pytest.raises(SinkError, match="versions of child rows cannot be kept"):
        night(tmp_path, "one", [order(1, "a")], keep_history=True)


def test_children_of_pruned_rows_are_removed(tmp_path: Path) -> None:
    night(tmp_path, "one", [order(1, "a", "b"), order(2, "c"), order(3, "d")])
    keys = pa.RecordBatch.from_pydict({"id": [1, 3]})
    sink, here = duckdb_sink(tmp_path, table="orders", write_mode="prune"), place(job_id="keys")
    sink.prepare(sink_place(here))
    commit(sink, [stage(sink, TableSchema(table="keys", columns=keys.schema), [keys], here)], here)
    sink.complete(sink_place(here))
    assert state(tmp_path) == [(1, lines("a", "b")), (3, lines("d"))]


@pytest.mark.parametrize("dropped", [["orders__lines__tags"], ["orders__lines", "orders__lines__tags"]])
def test_child_rows_whose_table_was_dropped_are_not_lost(tmp_path: Path, dropped: list[str]) -> None:
    sink, here = duckdb_sink(tmp_path, **MERGE), sink_place(place(job_id="one"))
    sink.prepare(here)
    sink.apply_save_mode(here)
    waiting = staged(sink, "one", [order(1, "a", "b")])
    changed(tmp_path, *(f"ALTER TABLE {name} RENAME TO was_{name}" for name in dropped))
    with pytest.raises(CommitError, match=rf"the table main.{dropped[0]} no longer exists: it was dropped or renamed"):
        sink.commit([waiting], here, may_be_committed=False)
    assert not asked(tmp_path, "SELECT id FROM orders")
    changed(tmp_path, *(f"ALTER TABLE was_{name} RENAME TO {name}" for name in dropped))
    sink.commit([waiting], here, may_be_committed=True)
    assert state(tmp_path) == [(1, lines("a", "b"))]
