"""A key that comes again: replaced where ``enable_upsert`` says so, else an error, in both modes of the sink."""

from typing import Any

import pytest

from seatunnel_core.errors import CommitError, RowError
from tests.connectors.jdbc.databases import Database
from tests.connectors.jdbc.sink_units import AFTER, BEFORE, GONE, NEW, batch, write

PEOPLE = "SELECT id, name FROM people ORDER BY id, name"


def sink(of: Database, *, exact: bool, upsert: bool = False) -> Any:
    return of.sink(
        generate_sink_sql=True, table="people", primary_keys=["id"], enable_upsert=upsert, is_exactly_once=exact
    )


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("key", ["PRIMARY KEY", ""])
@pytest.mark.parametrize(
    "rows",
    [
        [(NEW, 1, "a"), (NEW, 2, "b"), (NEW, 1, "c")],
        [(AFTER, 1, "a"), (NEW, 1, "c")],
        [(NEW, 1, "a"), (GONE, 1, "a"), (NEW, 1, "b"), (NEW, 1, "c")],
    ],
)
def test_a_key_that_comes_twice_in_a_unit_is_an_error_without_upserts(
    database: Database, rows: Any, key: str, exact: bool
) -> None:
    """The last row won without a word, and the report counted all of them."""
    database.run(f"CREATE TABLE people (id int {key}, name varchar(20))")
    of = sink(database, exact=exact)
    with pytest.raises(RowError, match=r"a row with the key id = 1 cannot be inserted into .*people"):
        write(of, *(batch(row) for row in rows))
    assert database.run(PEOPLE) == []


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("key", ["PRIMARY KEY", ""])
def test_a_key_that_the_table_has_is_an_error_without_upserts(database: Database, key: str, exact: bool) -> None:
    database.run(f"CREATE TABLE people (id int {key}, name varchar(20))", "INSERT INTO people VALUES (1, 'a')")
    with pytest.raises(CommitError if exact else RowError) as caught:
        write(sink(database, exact=exact), batch((NEW, 1, "b"), (NEW, 2, "b")))
    said = str(caught.value).lower()
    assert "unique" in said or "duplicate" in said or "a row with the key id = 1 cannot be inserted" in said
    assert [tuple(row) for row in database.run(PEOPLE)] == [(1, "a")]


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("key", ["PRIMARY KEY", ""])
def test_changes_of_a_key_are_none(database: Database, key: str, exact: bool) -> None:
    database.run(f"CREATE TABLE people (id int {key}, name varchar(20))", "INSERT INTO people VALUES (1, 'a')")
    rows = [(BEFORE, 1, "a"), (AFTER, 1, "b"), (GONE, 1, "b"), (NEW, 1, "c"), (AFTER, 1, "d"), (NEW, 2, "e")]
    write(sink(database, exact=exact), batch(*rows))
    assert [tuple(row) for row in database.run(PEOPLE)] == [(1, "d"), (2, "e")]


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("upsert", [True, False])
def test_no_two_rows_have_the_same_key_where_it_is_null(database: Database, upsert: bool, exact: bool) -> None:
    """The last of them was kept, and the others were not."""
    database.run("CREATE TABLE people (id int UNIQUE, name varchar(20))")
    write(sink(database, exact=exact, upsert=upsert), batch((NEW, None, "a"), (NEW, None, "b"), (NEW, 1, "c")))
    assert sorted(name for _, name in database.run(PEOPLE)) == ["a", "b", "c"]
