"""Values of the log are those that the source ``Jdbc`` reads from the table."""

from collections.abc import Sequence
from contextlib import closing

import pyarrow as pa
import pytest
from attrs import evolve

from seatunnel_core.connectors.jdbc.column import Column
from seatunnel_core.connectors.jdbc.databases.postgresql import PostgreSQL
from seatunnel_core.connectors.jdbc.fetched import Misfit
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.postgres_log.change_batch import ChangeBatch
from seatunnel_core.connectors.postgres_log.errors import LogServerError, UnsupportedLogError
from seatunnel_core.connectors.postgres_log.publications import create_publication
from seatunnel_core.connectors.postgres_log.replication import ReplicationConnection
from seatunnel_core.connectors.postgres_log.session import log_parameters, sql_parameters, with_session
from seatunnel_core.connectors.postgres_log.slot_reader import SlotReader
from seatunnel_core.connectors.postgres_log.slots import create_slot, drop_slot
from seatunnel_core.connectors.postgres_log.sql_connection import connect, run
from tests.connectors.postgres_log.every_type import EXTENSIONS, INFINITE_NUMERIC, MADE, SINCE, TYPES
from tests.connectors.postgres_log.log_shop import LogShop, changes, joined, rows

pytestmark = pytest.mark.servers


def read_by_jdbc(shop: LogShop, table: str) -> tuple[Sequence[Column], pa.Table, dict[int, Misfit]]:
    """Return columns, rows by id and misfits as the source reads them."""
    dialect = PostgreSQL(with_session(shop.address), 2)
    with dialect.pool.lend() as connection:
        columns = dialect.columns(connection, f"SELECT * FROM {table}")
        connection.rollback()
    names = [dialect.quoted(column.name) for column in columns]
    shown = [column.read.replace("{}", name) for column, name in zip(columns, names, strict=True)]
    shown += [column.misfit.replace("{}", name) for column, name in zip(columns, names, strict=True) if column.misfit]
    select = f"SELECT {', '.join(shown)} FROM {table} ORDER BY {names[0]}"
    found = list(dialect.read(select, columns, 10_000, None))
    forget()
    misfits: dict[int, Misfit] = {}
    start = 0
    for each in found:
        misfits |= {start + number: message for number, message in each.misfits.items()}
        start += each.rows.num_rows
    return columns, pa.Table.from_batches([each.rows for each in found]), misfits


def require_same(shop: LogShop, table: str, logged: pa.Table, misfits: set[int]) -> None:
    _, expected, others = read_by_jdbc(shop, table)
    assert logged.schema.types == expected.schema.types
    for name in expected.schema.names:
        mine, its = logged.column(name).combine_chunks(), expected.column(name).combine_chunks()
        same = mine.cast(pa.string()) if pa.types.is_floating(mine.type) else mine
        theirs = its.cast(pa.string()) if pa.types.is_floating(its.type) else its
        assert repr(same.to_pylist()) == repr(theirs.to_pylist()), name
    assert misfits == set(others)


def create_all(shop: LogShop) -> tuple[str, dict[str, tuple[str, ...]]]:
    types = {kind: literals for kind, literals in TYPES.items() if shop.version >= SINCE.get(kind, 0)}
    if shop.version < INFINITE_NUMERIC:
        types["numeric"] = tuple(each for each in types["numeric"] if "Infinity" not in each)
    for name, literal in EXTENSIONS.items():
        if shop.run(f"SELECT 1 FROM pg_available_extensions WHERE name = '{name}'"):
            shop.run(f"CREATE EXTENSION IF NOT EXISTS {name} SCHEMA public")
            types |= {f"public.{name}": (literal,), f"public.{name}[]": (f"array[{literal}]::public.{name}[]",)}
    shop.run(*MADE)
    columns = ", ".join(f'"c {number}" {kind}' for number, kind in enumerate(types))
    shop.run(f"CREATE TABLE kinds (id int PRIMARY KEY, {columns})")
    return "shop.kinds", types


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata"])
def test_each_type_at_its_extremes_is_the_same_from_the_table_and_from_the_log(shop: LogShop, zone: str) -> None:
    shop.run(f"ALTER DATABASE postgres SET TimeZone = '{zone}'", "ALTER DATABASE postgres SET DateStyle = 'SQL, DMY'")
    try:
        table, types = create_all(shop)
        found: list[ChangeBatch] = []
        with shop.logged(found):
            shop.run(f"INSERT INTO {table} (id) VALUES (0)")
            for number, (kind, literals) in enumerate(types.items()):
                for index, literal in enumerate(literals):
                    row = 1 + number * 100 + index
                    shop.run(f'INSERT INTO {table} (id, "c {number}") VALUES ({row}, ({literal})::{kind})')
        (change,) = changes(found)
        assert change.rows.num_rows == 1 + sum(map(len, types.values()))
        require_same(shop, table, joined(found), set(change.misfits))
        assert change.complete
    finally:
        shop.run("ALTER DATABASE postgres RESET ALL")


def test_a_domain_over_a_dropped_type_is_refused_and_an_enum_remains_readable(shop: LogShop) -> None:
    """The precision of a domain is only in the catalog."""
    shop.run(*MADE, "CREATE TABLE a (id int PRIMARY KEY, mood shop.mood, moods shop.mood[])")
    shop.run("CREATE TABLE b (id int PRIMARY KEY, amount shop.amount)")
    slot, start = shop.slot()
    shop.run("INSERT INTO a VALUES (1, 'glad', '{glad}')")
    end = shop.end()
    shop.run(
        "INSERT INTO b VALUES (1, 1.5)", "DROP TABLE a, b", "DROP TYPE shop.mood", "DROP DOMAIN shop.amount CASCADE"
    )
    assert rows(shop.read(slot, start, end)) == [("+I", 1, "glad", ["glad"])]
    with pytest.raises(UnsupportedLogError, match=r"column amount of shop.b: pg_catalog.numeric has been dropped"):
        shop.read(slot, end, shop.end())


@pytest.mark.parametrize("encoding", ["LATIN1", "EUC_JP"])
def test_texts_of_a_database_in_another_encoding(shop: LogShop, encoding: str) -> None:
    name, text = f"in_{encoding.lower()}", {"LATIN1": "Größe", "EUC_JP": "日本語"}[encoding]
    shop.run(f"DROP DATABASE IF EXISTS {name}")
    shop.run(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C'")
    address = evolve(shop.address, database=name)
    with closing(connect(sql_parameters(address))) as sql:
        run(sql, f'CREATE TABLE "{text}" (id int PRIMARY KEY, "{text}" text, list text[])')
        create_publication(sql, "all", None)
        with ReplicationConnection(log_parameters(address)) as log:
            made = create_slot(log, name)
        run(sql, f"INSERT INTO \"{text}\" VALUES (1, '{text}', '{{{text}}}')")
        with SlotReader(log_parameters(address), sql, name, ["all"], made.consistent_point) as reader:
            found = list(reader.batches(shop.end()))
        drop_slot(sql, name)
    assert rows(found) == [("+I", 1, text, [text])]
    assert changes(found)[0].table.schema.names == ["id", text, "list"]
    shop.run(f"DROP DATABASE {name}")


def test_bytes_that_are_no_text_are_named(shop: LogShop) -> None:
    """A database in SQL_ASCII accepts any bytes; the server refuses to send them."""
    shop.run("DROP DATABASE IF EXISTS raw")
    shop.run("CREATE DATABASE raw TEMPLATE template0 ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'")
    address = evolve(shop.address, database="raw")
    with closing(connect(sql_parameters(address))) as sql:
        run(sql, "CREATE TABLE t (id int PRIMARY KEY, name text)")
        create_publication(sql, "all", None)
        with ReplicationConnection(log_parameters(address)) as log:
            made = create_slot(log, "raw")
        run(sql, "INSERT INTO t VALUES (1, convert_from('\\xff'::bytea, 'SQL_ASCII'))")
        with (
            SlotReader(log_parameters(address), sql, "raw", ["all"], made.consistent_point) as reader,
            pytest.raises(LogServerError, match='invalid byte sequence for encoding "UTF8": 0xff'),
        ):
            list(reader.batches(shop.end()))
        drop_slot(sql, "raw")
    shop.run("DROP DATABASE raw")
