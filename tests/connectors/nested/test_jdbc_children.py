"""Child tables of merged rows in databases: the children of a row that is merged again are replaced with it."""

from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.testing import commit, options_of, stage
from seatunnel_core.connector_api.testing.drive import place, sink_place
from seatunnel_core.connectors.jdbc.sink import JdbcSink
from seatunnel_core.errors import CommitError, SinkError
from seatunnel_core.rows.batch import TableSchema
from tests.connectors.jdbc.databases import Database
from tests.connectors.nested.nested_orders import MERGE, lines, order, staged, state
from tests.shared import EACH

on_each = pytest.mark.parametrize("database", EACH, indirect=True)


def night(database: Database, run: str, *units: list[dict[str, Any]], again: bool = False, **options: Any) -> None:
    """A job with some units in one commit, which is repeated if ``may_be_committed``."""
    sink = JdbcSink(options_of(JdbcSink, {**database.options, **MERGE, **options}))
    here = sink_place(place(job_id=run))
    sink.prepare(here)
    sink.apply_save_mode(here)
    done = [staged(sink, run, rows, unit) for unit, rows in enumerate(units, 1)]
    sink.commit(done, here, may_be_committed=False)
    if again:
        sink.commit(done, here, may_be_committed=True)


@on_each
def test_children_are_replaced_with_the_rows_that_contain_them(database: Database) -> None:
    night(database, "one", [order(1, "a", "b"), order(2, "c"), order(3, "d")])
    assert state(database.run) == [(1, lines("a", "b")), (2, lines("c")), (3, lines("d"))]
    night(database, "two", [order(1, "a"), order(2), order(4, "e", "f")], again=True)
    assert state(database.run) == [(1, lines("a")), (2, []), (3, lines("d")), (4, lines("e", "f"))]
    night(database, "three", [order(1, "x", "y"), order(1, "z")], [order(4, "a"), order(4, "b")], [order(4, "c")])
    assert state(database.run) == [(1, lines("z")), (2, []), (3, lines("d")), (4, lines("c"))]
    without: list[dict[str, Any]] = [{"id": 1}, {"id": 3, "lines": None}, {"id": 4, "lines": []}]
    for number, gone in enumerate(without):
        night(database, f"four-{number}", [gone])
    assert state(database.run) == [(1, []), (2, []), (3, []), (4, [])]
    night(database, "five", [order(2, "q", note="x")])
    assert state(database.run) == [(1, []), (2, lines("q")), (3, []), (4, [])]


@on_each
def test_children_that_no_merge_would_find_are_rejected(database: Database) -> None:
    with pytest.raises(SinkError, match=r"same schema as .*orders_v1, with a name that begins with orders_v1__"):
        night(database, "one", [order(1, "a")], table="${table_name}_v1")


@on_each
def test_children_of_pruned_rows_are_removed(database: Database) -> None:
    night(database, "one", [order(1, "a", "b"), order(2, "c"), order(3, "d")])
    keys, here = pa.RecordBatch.from_pydict({"id": [1, 3]}), place(job_id="keys")
    sink = JdbcSink(options_of(JdbcSink, {**database.options, "table": "orders", "write_mode": "prune"}))
    sink.prepare(sink_place(here))
    commit(sink, [stage(sink, TableSchema(table="keys", columns=keys.schema), [keys], here)], here)
    sink.complete(sink_place(here))
    assert state(database.run) == [(1, lines("a", "b")), (3, lines("d"))]


@pytest.mark.parametrize("dropped", [["orders__lines__tags"], ["orders__lines", "orders__lines__tags"]])
@on_each
def test_child_rows_whose_table_was_dropped_are_not_lost(database: Database, dropped: list[str]) -> None:
    sink, here = JdbcSink(options_of(JdbcSink, {**database.options, **MERGE})), sink_place(place(job_id="one"))
    sink.prepare(here)
    sink.apply_save_mode(here)
    waiting = staged(sink, "one", [order(1, "a", "b")])
    database.run(*(f"ALTER TABLE {name} RENAME TO was_{name}" for name in dropped))
    with pytest.raises(CommitError, match=rf"the table .*{dropped[0]} no longer exists: it was dropped or renamed"):
        sink.commit([waiting], here, may_be_committed=False)
    assert not database.run("SELECT id FROM orders")
    database.run(*(f"ALTER TABLE was_{name} RENAME TO {name}" for name in dropped))
    sink.commit([waiting], here, may_be_committed=True)
    assert state(database.run) == [(1, lines("a", "b"))]


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_child_tables_whose_names_differ_only_in_case_are_found(database: Database) -> None:
    """SQLite compares names without regard to case, as MySQL with ``lower_case_table_names`` does."""
    night(database, "one", [order(1, "a", "b"), order(2, "c")])
    sink, here = JdbcSink(options_of(JdbcSink, {**database.options, **MERGE})), sink_place(place(job_id="two"))
    sink.prepare(here)
    waiting = staged(sink, "two", [order(1, "x"), order(3, "d")])
    database.run("ALTER TABLE orders__lines RENAME TO orders__l", "ALTER TABLE orders__l RENAME TO orders__LINES")
    sink.commit([waiting], here, may_be_committed=False)
    assert state(database.run) == [(1, lines("x")), (2, lines("c")), (3, lines("d"))]
