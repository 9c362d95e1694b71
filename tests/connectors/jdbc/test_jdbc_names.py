"""Names of tables and columns that mean something else to a driver, a statement, a format or a person."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.testing import options_of, read
from seatunnel_core.connector_api.testing.drive import begin, commit, place, sink_place, stage
from seatunnel_core.connectors.jdbc.address import address_of
from seatunnel_core.connectors.jdbc.databases.dialect import dialect_of
from seatunnel_core.connectors.jdbc.databases.longest_names import require_short
from seatunnel_core.connectors.jdbc.sink import JdbcSink
from seatunnel_core.errors import SinkError
from seatunnel_core.rows.batch import TableSchema
from tests.connectors.jdbc.databases import Database, ask, empty, sink

NAMES: tuple[str, ...]
NAMES = ("vat %", "%s", "a%%b", "%(id)s", 'q"uote', "it's", "back`tick", "a.b", "a b", ":colon", "back\\slash", "what?")
NAMES += ("select", "UPPER", "näme 🚲", "$1", "{}", "{0}", "-- no", "x;y", "[z]", "@v", "v", "o", "n", "total")


def names_of(of: Database) -> tuple[str, ...]:
    """MariaDB 11 keeps no character beyond the first plane in a name."""
    return tuple(name for name in NAMES if of.kind != "mysql" or name.isascii()) + ("näme",) * (of.kind == "mysql")


def made(of: Database, table: str) -> tuple[dict[str, Any], str]:
    """A table with one row, and its quoted name."""
    names = names_of(of)
    row = {"id": 7, **{name: f"of {len(name)}" for name in names}}
    columns = ", ".join(f"{of.quoted(name)} varchar(40)" for name in names)
    of.run(f"CREATE TABLE {of.quoted(table)} (id int PRIMARY KEY, {columns})")
    values = ", ".join(f"'{row[name]}'" for name in names)
    of.run(f"INSERT INTO {of.quoted(table)} VALUES (7, {values})")
    return row, of.quoted(table)


@pytest.mark.parametrize("table", ["rates", "vat %", "a.b", 'q"`', "select", "it's :x ?", "Ünder\\"])
def test_a_table_and_its_columns_are_read_under_the_names_they_have(database: Database, table: str) -> None:
    """``vat %`` was asked for as ``vat %%``."""
    row, quoted = made(database, table)
    assert read(database.source(table_path=quoted)) == [row]
    assert read(database.source(query=f"SELECT * FROM {quoted}", where_condition="where id % 2 = 1")) == [row]


def test_each_name_may_be_that_of_the_split_column(database: Database) -> None:
    row, quoted = made(database, "rates")
    for name in names_of(database):
        assert read(database.source(table_path=quoted, partition_column=name, partition_num=2)) == [row], name


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("key", [(), ("vat %",)])
@pytest.mark.parametrize("table", ["rates", "vat %", "a.b", "select", "it's :x ?"])
def test_a_table_is_made_and_written_under_the_names_of_the_rows(
    database: Database, table: str, key: tuple[str, ...], exact: bool
) -> None:
    """New tables got the column ``vat %%``, and kept it."""
    names = names_of(database)
    schema = TableSchema(
        table="rows", columns=pa.schema([("id", pa.int64()), *((name, pa.string()) for name in names)])
    )
    row = {"id": 7, **{name: f"of {name}" for name in names}}
    rows = pa.RecordBatch.from_pylist([row], schema=schema.columns)
    for epoch in (1, 2):  # into a new table, and into one that is there
        of = database.sink(
            table=database.quoted(table), generate_sink_sql=True, is_exactly_once=exact, primary_keys=list(key)
        )
        here = place(epoch=epoch)
        of.prepare(sink_place(here))
        begin(of, schema, here).abort()
        commit(of, [stage(of, schema, [rows], here)], here)
    found = database.run(f"SELECT * FROM {database.quoted(table)}")
    assert [tuple(each) for each in found] == [tuple(row.values())] * (1 if key else 2)


@pytest.mark.parametrize(
    ("url", "fits", "wide"),
    [
        ("jdbc:postgresql://localhost/shop", ["n" * 63, "é" * 31], ["n" * 64, "é" * 32]),
        ("jdbc:mysql://localhost/shop", ["n" * 64, "é" * 64], ["n" * 65]),
        ("jdbc:sqlite:/shop.db", ["n" * 300], []),
    ],
)
def test_names_longer_than_the_database_allows_are_refused_before_anything_is_made(
    url: str, fits: list[str], wide: list[str]
) -> None:
    """PostgreSQL cut them off, so that the table had other names than the rows."""
    dialect = dialect_of(address_of(options_of(JdbcSink, {"url": url})), 1)
    require_short(dialect, fits[0], fits)
    for name in wide:
        with pytest.raises(
            SinkError, match=rf"the name of the column '{name}' has 6[45] .*allows at most 6[34]; shorten it"
        ):
            require_short(dialect, "t", ["id", name])
        with pytest.raises(SinkError, match=f"the name of the table '{name}'"):
            require_short(dialect, name, ["id"])


def test_sqlite_refuses_a_moment_with_a_zone_and_makes_no_table(tmp_path: Path) -> None:
    """The table was made, and its first row was an error."""
    empty("sqlite", tmp_path)
    schema = TableSchema(table="t", columns=pa.schema([("at", pa.timestamp("us", "UTC"))]))
    made = sink(tmp_path / "shop.db", generate_sink_sql=True, table="t")
    with pytest.raises(SinkError, match=r"column 'at' .*timestamp_tz.* sqlite has no type for it"):
        made.create_tables((schema,), sink_place(place()))
    assert ask(tmp_path / "shop.db", "SELECT name FROM sqlite_master WHERE name = 't'") == []
