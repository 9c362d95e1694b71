"""Tables of databases that grow with the rows of a later job, on each database; and kills while they do."""

import gc
import logging
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.testing import commit, options_of, stage
from seatunnel_core.connector_api.testing.drive import place, sink_place
from seatunnel_core.connector_api.testing.killing import Killing
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.jdbc.sink import JdbcSink
from seatunnel_core.connectors.tables import column_growth
from seatunnel_core.errors import RowError, SeaTunnelError, SinkError, UsageError
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.rows.inference.shape import Shape
from tests.connectors.jdbc.databases import Database, empty
from tests.shared import EACH, SERVERS

EVOLVE: dict[str, Any] = {"schema_contract": "evolve"}
MERGE: dict[str, Any] = {"write_mode": "merge", "merge_key": "id"}
APPEND: dict[str, Any] = {"write_mode": "append", "is_exactly_once": True}
AT_ONCE: dict[str, Any] = {"write_mode": "append"}


on_each = pytest.mark.parametrize("database", EACH, indirect=True)
on_servers = pytest.mark.parametrize("database", SERVERS, indirect=True)


def rows_of(**columns: Any) -> tuple[TableSchema, pa.RecordBatch]:
    rows = pa.RecordBatch.from_pydict(columns)
    return TableSchema(table="shop.people", columns=rows.schema), rows


def sink(database: Database, **options: Any) -> JdbcSink:
    return JdbcSink(options_of(JdbcSink, {**database.options, "table": "people", **APPEND, **options}))


def run(database: Database, job: str, options: dict[str, Any], **columns: Any) -> JdbcSink:
    """A job of one unit that has not ended."""
    return run_rows(database, job, options, rows_of(**columns)[1])


def run_rows(database: Database, job: str, options: dict[str, Any], rows: pa.RecordBatch) -> JdbcSink:
    schema, here = TableSchema(table="shop.people", columns=rows.schema), place(job_id=job)
    of = sink(database, **options)
    of.prepare(sink_place(here))
    of.apply_save_mode(sink_place(here))
    commit(of, [stage(of, schema, [rows], here)], here)
    return of


def all_rows(database: Database, columns: str = "*") -> list[tuple[Any, ...]]:
    return sorted(map(tuple, database.run(f"SELECT {columns} FROM people")), key=lambda row: row[0])


@on_each
@pytest.mark.parametrize("mode", [APPEND, AT_ONCE, MERGE])
def test_a_new_column_is_added_and_null_in_older_rows(
    database: Database, mode: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    run(database, "one", mode, id=[1, 2], name=["a", "b"])
    with caplog.at_level(logging.WARNING):
        run(database, "two", {**mode, **EVOLVE}, id=[3, 4], name=["c", "d"], age=[30, None], note=["x", "y"])
    assert all_rows(database, "id, name, age, note") == [
        (1, "a", None, None),
        (2, "b", None, None),
        (3, "c", 30, "x"),
        (4, "d", None, "y"),
    ]
    assert "people gets the column 'age' (BIGINT)" in caplog.text
    run(database, "three", {**mode, **EVOLVE}, id=[5], name=["e"])
    assert all_rows(database, "id, name, age, note")[-1] == (5, "e", None, None), "a column that rows lack any more"


@on_each
def test_nothing_grows_unless_it_is_asked_for(database: Database) -> None:
    run(database, "one", APPEND, id=[1])
    with pytest.raises(SinkError, match=r"no column 'age', which .* have; add it, or write schema_contract = evolve"):
        run(database, "two", APPEND, id=[2], age=[30])
    with pytest.raises(SinkError, match="has no column 'age'"):
        run(database, "two", {"schema_contract": {"data_type": "evolve"}}, id=[2], age=[30])
    assert all_rows(database) == [(1,)]


WIDENED: list[tuple[pa.Array, pa.Array, list[Any]]] = [
    (pa.array([7], pa.int32()), pa.array([2**40]), [7, 2**40]),
    (pa.array([7], pa.int64()), pa.array([1.5]), [7, 1.5]),
    (pa.array([7], pa.int64()), pa.array(["x"]), ["7", "x"]),
    (pa.array([1.5], pa.float64()), pa.array(["x"]), ["1.5", "x"]),
]


@on_servers
@pytest.mark.parametrize(("first", "then", "found"), WIDENED)
def test_a_column_is_widened_and_keeps_its_values(
    database: Database, first: pa.Array, then: pa.Array, found: list[Any]
) -> None:
    run(database, "one", MERGE, id=[1], v=first)
    with pytest.raises(SeaTunnelError, match=r"schema_contract = evolve to widen|does not fit|out of range"):
        run(database, "frozen", MERGE, id=[2], v=then)
    run(database, "two", {**MERGE, **EVOLVE}, id=[2], v=then)
    assert [value for _, value in all_rows(database, "id, v")] == found
    run(database, "three", {**MERGE, **EVOLVE}, id=[3], v=first)
    assert type(found[0])(all_rows(database, "id, v")[2][1]) == found[0], "what is narrower goes into what is wider"


@on_servers
def test_a_value_that_would_change_keeps_the_column_from_growing(database: Database) -> None:
    run(database, "one", APPEND, id=[1], v=[2**53 + 1])
    with pytest.raises(SinkError, match=r"contains whole numbers beyond 9007199254740992.*not widened"):
        run(database, "two", EVOLVE, id=[2], v=[1.5])
    assert all_rows(database) == [(1, 2**53 + 1)]


@on_each
@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"id": [2], "NAME": ["b"]}, "'name', but the rows of shop.people have 'NAME', which differs only in case"),
        ({"id": [2], "name": [b"b"]}, "does not fit into|binary"),
        ({"nr": [2], "name": ["b"]}, "no column 'nr', which is part of the key"),
    ],
)
def test_what_cannot_grow_is_refused_and_nothing_changes(
    database: Database, columns: dict[str, Any], said: str
) -> None:
    run(database, "one", APPEND, id=[1], name=["a"])
    options = {**MERGE, "merge_key": "nr"} if "nr" in columns else {}
    with pytest.raises(SinkError, match=said):
        run(database, "two", {**options, **EVOLVE}, **columns)
    assert all_rows(database) == [(1, "a")]


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_sqlite_changes_no_type(database: Database) -> None:
    run(database, "one", APPEND, id=[1], v=[7])
    with pytest.raises(
        SinkError, match=r"fit into BIGINT of the table people\. The option schema_contract cannot widen"
    ):
        run(database, "two", EVOLVE, id=[2], v=["x"])


@on_servers
def test_a_declaration_of_its_own_is_kept(database: Database) -> None:
    """A length, a default and a comment say more than the type of rows does."""
    comment = " COMMENT 'mine'" if database.kind == "mysql" else ""
    database.run(f"CREATE TABLE people (id bigint, code varchar(3), n int NOT NULL{comment}, d int NOT NULL DEFAULT 5)")
    run(database, "one", EVOLVE, id=[1], code=["abc"], n=[2**40])
    assert all_rows(database) == [(1, "abc", 2**40, 5)]
    with pytest.raises(Exception, match="too long"):
        run(database, "two", EVOLVE, id=[1], code=["abcd"], n=[1])
    if database.kind == "mysql":
        asked = "SELECT COLUMN_COMMENT, IS_NULLABLE FROM information_schema.COLUMNS WHERE COLUMN_NAME = 'n'"
        assert tuple(database.run(asked)[0]) == ("mine", "NO")
        with pytest.raises(SinkError, match=r"does not fit into int.*cannot widen"):
            run(database, "three", EVOLVE, id=[1], n=[1], d=["x"])


@on_each
def test_a_check_tells_what_would_grow_and_changes_nothing(database: Database) -> None:
    run(database, "one", APPEND, id=[1])
    schema, _ = rows_of(id=[1], name=["a"])
    with pytest.raises(SinkError, match="schema_contract = evolve"):
        sink(database).dry_run((schema,))
    assert "when the job starts, it gets the column 'name'" in sink(database, **EVOLVE).dry_run((schema,))[1]
    assert all_rows(database) == [(1,)]


@on_each
def test_what_an_earlier_job_has_staged_goes_into_the_table_that_has_grown(database: Database) -> None:
    """The older job was killed before its commit, and goes on when another one has let the table grow."""
    (schema, rows), here = rows_of(id=[1], v=pa.array([7], pa.int32())), place(job_id="older")
    older = sink(database)
    older.prepare(sink_place(here))
    waiting = stage(older, schema, [rows], here)
    wide = pa.array([8], pa.int32()) if database.kind == "sqlite" else pa.array(["x"])
    run(database, "newer", EVOLVE, id=[2], v=wide, more=["m"])
    later = place(job_id="older", epoch=2)
    again = sink(database)
    again.prepare(sink_place(later))
    again.create_tables((schema,), sink_place(later))
    again.commit([waiting], sink_place(later), may_be_committed=True)
    again.commit([waiting], sink_place(later), may_be_committed=True)
    assert [(number, str(value), more) for number, value, more in all_rows(database, "id, v, more")] == [
        (1, "7", None),
        (2, str(wide[0].as_py()), "m"),
    ]


@on_servers
@pytest.mark.parametrize("there", [True, False])
def test_many_jobs_make_a_table_and_let_it_grow_at_the_same_time(database: Database, there: bool) -> None:
    run(database, "one", APPEND, id=[1])
    if not there:
        database.run("DROP TABLE people")
    failures: list[BaseException] = []

    def grow(number: int) -> None:
        try:
            run(database, f"job{number}", EVOLVE, id=[number], name=["a"], age=[number])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=grow, args=(number,)) for number in range(2, 8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert [row[0] for row in all_rows(database)] == list(range(1 if there else 2, 8))


@pytest.mark.parametrize("database", SERVERS[:1], indirect=True)
def test_a_look_at_a_table_leaves_no_lock_that_somebody_waits_for(database: Database) -> None:
    run(database, "one", APPEND, id=[1])
    dialect, path = sink(database)._dialect, ("public", "people")
    with dialect.pool.lend() as looking, dialect.pool.lend() as changing:
        assert dialect.table(looking, path) is not None
        dialect.wait_for_locks(changing, 2)
        dialect.lock_table(changing, path)


def test_a_statement_has_no_table_that_could_grow() -> None:
    options = {"url": "jdbc:sqlite:/nowhere.db", "query": "INSERT INTO t VALUES (?)", "schema_contract": "evolve"}
    with pytest.raises(UsageError, match="'schema_contract': requires a table"):
        JdbcSink(options_of(JdbcSink, options))


@pytest.mark.torture
@pytest.mark.timeout(300)
def test_a_kill_between_any_two_lines_costs_nothing(tmp_path: Path) -> None:
    moment, here, later = 1, place(job_id="next"), place(job_id="next", epoch=2)
    places: set[str] = set()
    schema, rows = rows_of(id=[2], name=["b"], age=[3])
    while True:
        (tmp_path / str(moment)).mkdir()
        database = empty("sqlite", tmp_path / str(moment))
        run(database, "one", APPEND, id=[1])
        of = sink(database, **EVOLVE)
        of.prepare(sink_place(here))
        with Killing([Path(column_growth.__file__)], moment) as killing:
            of.create_tables((schema,), sink_place(here))
        del of
        gc.collect()
        forget()
        again = sink(database, **EVOLVE)
        again.prepare(sink_place(later))
        commit(again, [stage(again, schema, [rows], later)], later)
        assert all_rows(database) == [(1, None, None), (2, "b", 3)], killing.place
        forget()
        if killing.place is None:
            break
        places.add(killing.place)
        moment += 3
    assert len(places) >= 4


@on_each
@pytest.mark.parametrize("contract", [{}, EVOLVE])
def test_columns_without_a_value_change_nothing(database: Database, contract: dict[str, Any]) -> None:
    """A night with nothing but null in a column widened it to text, or was refused."""
    shape = Shape()
    shape.see([{"id": 2, "v": None, "new": {}, "tags": []}])
    run(database, "one", MERGE, id=[1], v=[5])
    for number, mode in enumerate(({**MERGE, **contract}, {**AT_ONCE, **contract})):
        rows = pa.RecordBatch.from_pylist([{"id": 2 + number, "new": "{}", "tags": []}], schema=shape.columns())
        run_rows(database, f"more-{number}", mode, rows)
    assert all_rows(database) == [(1, 5), (2, None), (3, None)]
    late = pa.RecordBatch.from_pylist([{"id": 4, "new": "{'a': 1}"}], schema=shape.columns())
    with pytest.raises(RowError, match=r"column 'new', row 1 of a batch: the column has a value, but was empty in"):
        run_rows(database, "late", {**MERGE, **contract}, late)
    with pytest.raises(RowError, match=r"column 'v', row 1 of a batch of shop.people: 'x' does not fit into"):
        run_rows(database, "later", {**MERGE, **contract}, _with(late, v="x", new=None))


def _with(rows: pa.RecordBatch, **values: Any) -> pa.RecordBatch:
    """The single row with other values."""
    (row,) = rows.to_pylist()
    return pa.RecordBatch.from_pylist([{**row, **values}], schema=rows.schema)


@on_each
def test_rows_that_are_collected_get_the_columns_of_a_later_table(database: Database) -> None:
    """Tables of one run replace the rows of one target together. SQLite changes no type."""
    of, here, v = sink(database, write_mode="replace", **EVOLVE), place(), 7 if database.kind == "sqlite" else 2.7
    of.prepare(sink_place(here))
    of.apply_save_mode(sink_place(here))
    for unit, columns in enumerate(({"id": [1], "v": [7]}, {"id": [2], "v": [v], "city": ["x"]}, {"id": [3]}), 1):
        rows = pa.RecordBatch.from_pydict(columns)
        waiting = stage(of, TableSchema(table=f"t{unit}", columns=rows.schema), [rows], place(unit=unit))
        commit(of, [waiting], here)
    of.complete(sink_place(here))
    assert all_rows(database, "id, v, city") == [(1, 7, None), (2, v, "x"), (3, None, None)]


@on_each
def test_rows_that_are_collected_do_not_get_a_column_with_a_default(database: Database) -> None:
    database.run("CREATE TABLE people (id bigint, n bigint DEFAULT 5)")
    of, here = sink(database, write_mode="replace"), place()
    of.prepare(sink_place(here))
    first, then = (pa.schema([(name, pa.int64()) for name in names]) for names in (["id"], ["id", "n"]))
    of.create_tables((TableSchema(table="a", columns=first),), sink_place(here))
    with pytest.raises(SinkError, match=r"cannot get the column 'n' \(bigint.*; add it to the rows of all tables"):
        of.create_tables((TableSchema(table="b", columns=then),), sink_place(here))
