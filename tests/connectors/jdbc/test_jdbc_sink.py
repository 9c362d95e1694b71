"""The options, statements, tables and rows of the sink ``Jdbc``, on SQLite."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.sink import Guarantee
from seatunnel_core.connector_api.testing.drive import commit, place, sink_place, stage
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.errors import CommitError, RowError, SinkError, UsageError
from seatunnel_core.rows.batch import TableSchema
from tests.connectors.jdbc.databases import ask, run, sink
from tests.connectors.jdbc.sink_units import AFTER, CHANGES, COLUMNS, EXACT, GONE, NEW, SCHEMA, batch, write


@pytest.fixture
def file(tmp_path: Path) -> Path:
    forget()
    return tmp_path / "target.db"


KEYED = {"table": "people", "primary_keys": ["id"]}


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("key", ["PRIMARY KEY", ""])
@pytest.mark.parametrize(("rows", "found"), CHANGES)
def test_rows_are_applied_by_kind_in_their_order(
    file: Path, rows: list[tuple[Any, ...]], found: list[tuple[Any, ...]], key: str, exact: bool
) -> None:
    run(file, f"CREATE TABLE people (id INTEGER {key}, name TEXT)", "INSERT INTO people VALUES (1, 'a'), (2, 'b')")
    of = sink(file, generate_sink_sql=True, is_exactly_once=exact, batch_size=1, **KEYED)
    write(of, *(batch(row) for row in rows))
    assert sorted(ask(file, "SELECT * FROM people")) == found


def test_a_row_that_is_there_is_an_error_without_upserts_and_changes_still_find_theirs(file: Path) -> None:
    run(file, "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT)", "INSERT INTO people VALUES (1, 'a'), (2, 'b')")
    of = sink(file, enable_upsert=False, **EXACT, **KEYED)
    write(of, batch((AFTER, 1, "x"), (GONE, 2, None), (NEW, 3, "c")))
    assert sorted(ask(file, "SELECT * FROM people")) == [(1, "x"), (3, "c")]
    with pytest.raises(CommitError, match=r"UNIQUE constraint failed: people\.id"):
        write(of, batch((NEW, 1, "y")), unit=2)


def test_changes_without_a_key_are_refused(file: Path) -> None:
    with pytest.raises(RowError, match=r"shop\.people has updated or deleted rows, but people has no key"):
        write(sink(file, table="people", **EXACT), batch((GONE, 1, "a")))


def test_the_key_of_the_rows_is_taken_where_none_is_written(file: Path) -> None:
    schema = TableSchema(table="shop.people", columns=COLUMNS, primary_key=("id",))
    of = sink(file, **EXACT)
    write(of, batch((NEW, 1, "a"), (NEW, 1, "b"), schema=schema), schema=schema)
    assert ask(file, "SELECT * FROM people") == [(1, "b")]
    assert ask(file, "SELECT pk FROM pragma_table_info('people') WHERE name = 'id'") == [(1,)]


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("INSERT INTO people (name, id) VALUES (upper(:name), :id * 10);", [(10, "A"), (20, "B")]),
        ("insert into people (id, name)\nvalues (?, 'it''s ? (' || ?)", [(1, "it's ? (a"), (2, "it's ? (b")]),
        ("INSERT INTO people VALUES (?, ?) ON CONFLICT (id) DO NOTHING", [(1, "a"), (2, "b")]),
    ],
)
def test_a_statement_takes_the_columns_of_the_rows(file: Path, query: str, found: Any, exact: bool) -> None:
    run(file, "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT)")
    write(sink(file, query=query, is_exactly_once=exact), batch((NEW, 1, "a"), (NEW, 2, "b")))
    assert ask(file, "SELECT * FROM people ORDER BY id") == found


@pytest.mark.parametrize("exact", [True, False])
def test_a_statement_beside_generate_sink_sql_is_what_is_used(
    file: Path, caplog: pytest.LogCaptureFixture, exact: bool
) -> None:
    """Such jobs were refused; SeaTunnel takes the statement, and so do people who leave the option in."""
    run(file, "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, more TEXT)")
    of = sink(
        file,
        query="INSERT INTO people (id, name) VALUES (?, ?)",
        generate_sink_sql=True,
        table="other",
        is_exactly_once=exact,
    )
    write(of, batch((NEW, 1, "a")))
    assert ask(file, "SELECT * FROM people") == [(1, "a", None)]
    assert "query and generate_sink_sql = true are mutually exclusive;" in caplog.text


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("INSERT INTO peple VALUES (?, ?)", "no such table: peple"),
        ("INSERT INTO people (id, nam) VALUES (?, ?)", "no column named nam"),
        (
            "INSERT INTO people VALUES (?)",
            "the statement has 1 placeholders (?), but the rows of shop.people have 2 columns (id, name)",
        ),
        ("INSERT INTO people VALUES (:id, :nme)", "no column 'nme'; did you mean name?"),
    ],
)
def test_a_statement_that_cannot_be_is_refused_before_data_moves(file: Path, query: str, said: str) -> None:
    run(file, "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT)")
    of = sink(file, query=query)
    of.prepare(sink_place(place()))
    with pytest.raises(SinkError) as caught:
        of.create_tables([SCHEMA], sink_place(place()))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "option 'query' is missing"),
        ({"query": "UPDATE t SET a = ?"}, "expected an INSERT"),
        ({"query": "INSERT INTO t VALUES (?), (?)"}, "one list of values"),
        ({"query": "INSERT INTO t VALUES (?, :a)"}, "both ? and :name"),
        ({"generate_sink_sql": True, "data_save_mode": "CUSTOM_PROCESSING"}, "option 'custom_sql'"),
        ({"generate_sink_sql": True, "table": "${nam}"}, "unknown variable"),
    ],
)
def test_options_that_do_not_go_together(file: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        sink(file, **options)
    assert said in str(caught.value)


def test_what_a_sink_promises_follows_from_its_options(file: Path) -> None:
    assert sink(file, **EXACT).guarantee is Guarantee.EXACTLY_ONCE
    assert sink(file, generate_sink_sql=True).guarantee is Guarantee.AT_LEAST_ONCE
    assert sink(file, generate_sink_sql=True, **KEYED).guarantee is Guarantee.IDEMPOTENT
    assert sink(file, generate_sink_sql=True, enable_upsert=False, **KEYED).guarantee is Guarantee.AT_LEAST_ONCE


OLD = ("CREATE TABLE people (id INTEGER, name TEXT, old TEXT)", "INSERT INTO people VALUES (7, 'x', 'y')")


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    ("modes", "found"),
    [
        ({}, [(7, "x", "y"), (1, "a", None)]),
        ({"data_save_mode": "DROP_DATA"}, [(1, "a", None)]),
        ({"schema_save_mode": "RECREATE_SCHEMA"}, [(1, "a")]),
        (
            {"data_save_mode": "CUSTOM_PROCESSING", "custom_sql": "UPDATE people SET old = 'z'"},
            [(7, "x", "z"), (1, "a", None)],
        ),
        ({"data_save_mode": "ERROR_WHEN_DATA_EXISTS"}, "ERROR_WHEN_DATA_EXISTS"),
    ],
)
def test_save_modes_act_once(file: Path, modes: dict[str, Any], found: Any, exact: bool) -> None:
    run(file, *OLD)
    of, here = sink(file, generate_sink_sql=True, is_exactly_once=exact, table="people", **modes), place()
    of.prepare(sink_place(here))
    of.apply_save_mode(sink_place(here))
    if isinstance(found, str):
        with pytest.raises(SinkError, match=found):
            of.create_tables([SCHEMA], sink_place(here))
        return
    committable = stage(of, SCHEMA, [batch((NEW, 1, "a")).rows], here)
    commit(of, [committable], here)
    of.prepare(sink_place(place(epoch=2)))
    of.create_tables([SCHEMA], sink_place(place(epoch=2)))
    assert ask(file, "SELECT * FROM people") == found


@pytest.mark.parametrize(
    ("made", "schema", "said"),
    [
        ((), SCHEMA, "the table people does not exist, and schema_save_mode is IGNORE"),
        (
            ("CREATE TABLE people (id INTEGER, nme TEXT)",),
            SCHEMA,
            "has no column 'name', which the rows of shop.people",
        ),
        (("CREATE TABLE people (id INTEGER, name BLOB)",), SCHEMA, "does not fit into BLOB of the table people"),
        (("CREATE TABLE people (id INTEGER, name TEXT, x TEXT NOT NULL)",), SCHEMA, "requires a column 'x'"),
        (
            ("CREATE TABLE people (id INTEGER, name TEXT)",),
            TableSchema(table="shop.people", columns=COLUMNS, primary_key=("key",)),
            "key column 'key' is not among",
        ),
    ],
)
def test_rows_that_do_not_fit_are_refused_before_they_move(
    file: Path, made: tuple[str, ...], schema: TableSchema, said: str
) -> None:
    run(file, *made)
    keys = {"primary_keys": list(schema.primary_key)} if schema.primary_key else {}
    of = sink(file, generate_sink_sql=True, table="people", schema_save_mode="IGNORE", **keys)
    of.prepare(sink_place(place()))
    with pytest.raises(SinkError, match="pipeline 1, sink Jdbc: ") as caught:
        of.create_tables([schema], sink_place(place()))
    assert said in str(caught.value)


def test_a_type_without_a_column_type_is_named(file: Path) -> None:
    schema = TableSchema(table="people", columns=pa.schema([("tags", pa.list_(pa.string()))]))
    of = sink(file, **EXACT)
    of.prepare(sink_place(place()))
    with pytest.raises(SinkError, match=r"column 'tags' of the table people has the type array<string>, but sqlite"):
        of.create_tables([schema], sink_place(place()))


def test_a_value_that_is_too_large_is_named(file: Path) -> None:
    run(file, "CREATE TABLE people (id DECIMAL(3, 1), name TEXT)")
    schema = TableSchema(table="shop.people", columns=pa.schema([("id", pa.decimal128(9, 2)), ("name", pa.string())]))
    of = sink(file, table="people", **EXACT)
    with pytest.raises(RowError, match=r"column 'id', row 2 of a batch of shop\.people: '1234\.50' does not fit"):
        write(of, batch((NEW, Decimal("1.50"), "a"), (NEW, Decimal("1234.50"), "b"), schema=schema), schema=schema)


def test_names_follow_field_ide_and_the_variables_of_the_table(file: Path) -> None:
    of = sink(file, table="new_${table_name}", field_ide="UPPERCASE", **EXACT)
    write(of, batch((NEW, 1, "a")))
    assert ask(file, "SELECT name FROM pragma_table_info('new_people')") == [("ID",), ("NAME",)]
