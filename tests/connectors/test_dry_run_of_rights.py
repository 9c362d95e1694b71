"""What ``--check`` finds of the rights of a user in a database, and that it leaves nothing there."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.jdbc.sink import JdbcSink
from seatunnel_core.errors import SinkError
from seatunnel_core.rows.batch import TableSchema
from tests.connectors.jdbc.databases import Database, empty
from tests.shared import SERVERS

COMES = TableSchema(table="t", columns=pa.schema([("id", pa.int64()), ("name", pa.string())]))
PASSWORD = "only-for-this"


@pytest.fixture(params=SERVERS)
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A database with a table, whose user ``reader`` is removed in the end."""
    found = empty(request.param, tmp_path)
    found.run("CREATE TABLE t (id bigint NOT NULL PRIMARY KEY, name varchar(40))")
    yield found
    forget()
    if found.kind == "postgresql":
        found.run("DROP OWNED BY reader", "DROP USER reader")
    else:
        found.run("DROP USER reader@'%'")


def as_reader(made: Database, *rights: str) -> dict[str, Any]:
    """Make a user with these rights to the table, besides that to read it; return the options of a connector."""
    name, word = ("reader", "PASSWORD") if made.kind == "postgresql" else ("reader@'%'", "IDENTIFIED BY")
    made.run(f"CREATE USER {name} {word} '{PASSWORD}'")
    for right in ("SELECT", *rights):
        made.run(f"GRANT {right} ON t TO {name}")
    options = {key: value for key, value in made.options.items() if key not in ("user", "username", "password")}
    return {**options, "user": "reader", "password": PASSWORD, "generate_sink_sql": True, "table": "t"}


def dry_run(options: dict[str, Any]) -> list[str]:
    return list(JdbcSink(options_of(JdbcSink, options)).dry_run((COMES,)))


def test_a_right_that_is_missing_is_told_before_a_row_moves(made: Database) -> None:
    options = as_reader(made)
    with pytest.raises(SinkError, match="denied") as refused:
        dry_run(options)
    assert PASSWORD not in str(refused.value)
    assert made.run("SELECT count(*) FROM t") == [(0,)]


def test_one_that_is_there_is_told_too(made: Database) -> None:
    options = as_reader(made, "INSERT")
    assert dry_run(options)[2:] == ["reader may INSERT there"]
    keyed = {**options, "primary_keys": ["id"]}
    with pytest.raises(SinkError, match="denied"):
        dry_run(keyed)
    made.run("GRANT UPDATE ON t TO " + ("reader" if made.kind == "postgresql" else "reader@'%'"))
    assert dry_run(keyed)[2:] == ["reader may INSERT and UPDATE there"]
    assert made.run("SELECT count(*) FROM t") == [(0,)]


def test_rows_that_go_need_their_right(made: Database) -> None:
    """Without an index the rows of a key are deleted before new ones are inserted, and DROP_DATA deletes all."""
    options = as_reader(made, "INSERT")
    by_name, emptied = {**options, "primary_keys": ["name"]}, {**options, "data_save_mode": "DROP_DATA"}
    for each in (by_name, emptied):
        with pytest.raises(SinkError, match="denied"):
            dry_run(each)
    made.run("GRANT DELETE ON t TO " + ("reader" if made.kind == "postgresql" else "reader@'%'"))
    for each in (by_name, emptied):
        assert dry_run(each)[2:] == ["reader may INSERT and DELETE there"]


def test_a_table_that_grows_is_asked_for_the_columns_that_it_has(made: Database) -> None:
    options = {**as_reader(made, "INSERT"), "schema_contract": "evolve"}
    made.run("ALTER TABLE t DROP COLUMN name")
    found = dry_run(options)[1:]
    assert "when the job starts, it gets the column 'name'" in found[0]
    assert found[1:] == ["reader may INSERT there", "whether reader may ALTER the table was not checked"]


def test_whether_tables_may_be_made_is_told_or_said_not_to_be_known(made: Database) -> None:
    options = {**as_reader(made, "INSERT"), "is_exactly_once": True}
    if made.kind == "postgresql":
        with pytest.raises(SinkError, match="reader may not create tables in postgres"):
            dry_run(options)
    else:
        assert dry_run(options)[-1].startswith("whether reader may create tables in ")
