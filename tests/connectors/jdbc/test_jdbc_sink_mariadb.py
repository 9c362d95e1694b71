"""The sink ``Jdbc`` on a real MariaDB: its types, engines, keys and save modes, a quota that is used up."""

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.testing import read
from seatunnel_core.connector_api.testing.drive import commit, place, sink_place, stage
from seatunnel_core.connector_api.testing.kill_suite import SCHEMA, numbered
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.errors import CommitError, RowError, SinkError
from seatunnel_core.rows.batch import TableSchema
from tests.connectors.jdbc.databases import Database
from tests.connectors.jdbc.sink_units import AFTER, BEFORE, CHANGES, EXACT, GONE, NEW, batch, write

pytestmark = [pytest.mark.servers, pytest.mark.parametrize("database", ["mysql"], indirect=True)]


LONG = "12345678901234567890123456789012345.123456789012345678901234567890"
TYPES: list[tuple[str, pa.DataType, Any]] = [
    ("bit(1)", pa.bool_(), True),
    ("bit(11)", pa.binary(), b"\x06\x01"),
    ("tinyint", pa.int8(), -7),
    ("tinyint(1)", pa.bool_(), True),
    ("tinyint unsigned", pa.int32(), 255),
    ("smallint unsigned", pa.int64(), 65535),
    ("int unsigned", pa.uint32(), 4294967295),
    ("bigint", pa.int32(), 7),
    ("bigint unsigned", pa.uint64(), 18446744073709551615),
    ("float", pa.float32(), 1.5),
    ("double", pa.float64(), 0.1),
    ("decimal(15,2)", pa.decimal128(20, 2), Decimal("12.50")),
    ("decimal(65,30)", pa.decimal256(65, 30), Decimal(LONG)),
    ("decimal(30,20)", pa.decimal128(30, 20), Decimal("0.00000000000000000001")),
    ("year", pa.int16(), 2024),
    ("date", pa.date32(), date(2024, 2, 29)),
    ("time(6)", pa.time64("us"), time(1, 2, 3, 4)),
    ("datetime(6)", pa.timestamp("us"), datetime(2024, 2, 29, 1, 2, 3, 4)),
    ("timestamp(6)", pa.timestamp("us"), datetime(2024, 2, 29, 1, 2, 3, 4)),
    ("datetime", pa.timestamp("us", "UTC"), datetime(2024, 2, 29, 1, 2, 3, tzinfo=UTC)),
    ("char(3)", pa.string(), "x"),
    ("varchar(20)", pa.large_string(), "näme\n'\\ 🚲\0"),
    ("varchar(20) character set latin1", pa.string(), "näme"),
    ("longtext", pa.string(), "a\nb"),
    ("json", pa.string(), '{"a": "\\\\"}'),
    ("enum('glad','sad')", pa.string(), "glad"),
    ("set('a','b')", pa.string(), "a,b"),
    ("varbinary(3)", pa.binary(), b"\x00\xff'"),
    ("longblob", pa.binary(), b""),
    ("point", pa.binary(), bytes.fromhex("E61000000101000000000000000000F03F0000000000000040")),
    ("inet6", pa.string(), "::1"),
]


@pytest.mark.parametrize("exact", [True, False])
def test_each_type_goes_in_and_comes_back(database: Database, exact: bool) -> None:
    columns = ", ".join(f"c{n} {kind}{' null' if kind[:4] == 'time' else ''}" for n, (kind, _, _) in enumerate(TYPES))
    database.run(f"CREATE TABLE kinds ({columns})")
    fields = pa.schema([(f"c{number}", kind) for number, (_, kind, _) in enumerate(TYPES)])
    values = {f"c{number}": value for number, (_, _, value) in enumerate(TYPES)}
    rows = pa.RecordBatch.from_pylist([values, dict.fromkeys(values)], schema=fields)
    of, here = database.sink(generate_sink_sql=True, is_exactly_once=exact, table="kinds"), place()
    of.prepare(sink_place(here))
    commit(of, [stage(of, TableSchema(table="kinds", columns=fields), [rows], here)], here)
    full, empty = read(database.source(table_path="kinds"))
    found = {TYPES[number][0]: value for number, value in enumerate(full.values())}
    assert found == {**{kind: value for kind, _, value in TYPES}, "datetime": datetime(2024, 2, 29, 1, 2, 3)}
    assert set(empty.values()) == {None}


def test_a_table_is_made_for_the_types_of_the_rows(database: Database) -> None:
    columns = pa.schema([(f"c{number}", kind) for number, (_, kind, _) in enumerate(TYPES)])
    of = database.sink(generate_sink_sql=True, table="made")
    of.prepare(sink_place(place()))
    schema = TableSchema(table="made", columns=columns, primary_key=("c21", "c27", "c7"))
    of.create_tables([schema], sink_place(place()))
    asked = "SELECT COLUMN_TYPE FROM information_schema.COLUMNS WHERE TABLE_NAME = 'made' ORDER BY ORDINAL_POSITION"
    found = [kind for (kind,) in database.run(asked)]
    assert found[:9] == [
        *("tinyint(1)", "longblob", "tinyint(4)", "tinyint(1)", "int(11)", "bigint(20)", "bigint(20)", "int(11)"),
        "bigint(20) unsigned",
    ]
    assert found[14:22] == [
        *("smallint(6)", "date", "time(6)", "datetime(6)", "datetime(6)", "datetime(6)", "longtext", "varchar(255)")
    ]
    assert database.run("SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_NAME = 'made'") == [("InnoDB",)]


@pytest.mark.parametrize("engine", ["MyISAM", "Aria"])
def test_a_table_without_transactions_is_refused_when_rows_are_to_come_exactly_once(
    database: Database, engine: str
) -> None:
    database.run(f"CREATE TABLE people (id bigint, name text) ENGINE={engine}")
    of = database.sink(table="people", **EXACT)
    of.prepare(sink_place(place()))
    with pytest.raises(SinkError, match=r"the table shop\.people does not support transactions.*engine to InnoDB"):
        of.create_tables([SCHEMA], sink_place(place()))
    write(database.sink(generate_sink_sql=True, table="people"), batch((NEW, 1, "a")))
    assert database.run("SELECT * FROM people") == [(1, "a")]


def test_our_own_tables_have_transactions_whatever_the_default_is(database: Database) -> None:
    of = database.sink(table="people", properties={"sessionVariables": "default_storage_engine=Aria"}, **EXACT)
    of.prepare(sink_place(place()))
    stage(of, SCHEMA, [numbered(0, 3)], place())
    asked = "SELECT DISTINCT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'shop'"
    assert database.run(asked) == [("InnoDB",)]


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("key", ["PRIMARY KEY", ""])
@pytest.mark.parametrize("more", ["", ", UNIQUE (other)"])
@pytest.mark.parametrize(("rows", "found"), CHANGES)
def test_rows_are_applied_by_kind_in_their_order(
    database: Database, rows: list[tuple[Any, ...]], found: list[Any], more: str, key: str, exact: bool
) -> None:
    database.run(f"CREATE TABLE people (id bigint {key}, name text, other int{more})")
    database.run("INSERT INTO people (id, name) VALUES (1, 'a'), (2, 'b')")
    of = database.sink(generate_sink_sql=True, is_exactly_once=exact, table="people", primary_keys=["id"], batch_size=1)
    write(of, *(batch(row) for row in rows))
    assert database.run("SELECT id, name FROM people ORDER BY id") == found


def test_a_row_with_the_other_key_of_another_row_does_not_replace_that(database: Database) -> None:
    """What ``ON DUPLICATE KEY UPDATE`` would do without a word."""
    database.run("CREATE TABLE people (id bigint PRIMARY KEY, name varchar(20) UNIQUE)")
    database.run("INSERT INTO people VALUES (1, 'a'), (2, 'b')")
    of = database.sink(table="people", primary_keys=["id"], **EXACT)
    with pytest.raises(CommitError, match="Duplicate entry 'b' for key 'name'"):
        write(of, batch((NEW, 3, "b")))
    assert database.run("SELECT * FROM people ORDER BY id") == [(1, "a"), (2, "b")]


def test_a_moment_with_a_zone_does_not_go_where_the_session_would_shift_it(database: Database) -> None:
    database.run("CREATE TABLE people (id bigint, at timestamp)")
    schema = TableSchema(table="people", columns=pa.schema([("id", pa.int64()), ("at", pa.timestamp("us", "UTC"))]))
    of = database.sink(table="people", **EXACT)
    of.prepare(sink_place(place()))
    with pytest.raises(SinkError, match=r"column 'at'.*does not fit into timestamp of the table shop\.people"):
        of.create_tables([schema], sink_place(place()))


def test_keys_are_the_same_where_the_table_says_so(database: Database) -> None:
    database.run("CREATE TABLE people (id varchar(9) PRIMARY KEY, name text) COLLATE utf8mb4_general_ci")
    schema = TableSchema(table="people", columns=pa.schema([("id", pa.string()), ("name", pa.string())]))
    of = database.sink(table="people", primary_keys=["id"], **EXACT)
    write(of, batch((NEW, "a", "1"), (NEW, "A", "2"), schema=schema), schema=schema)
    assert database.run("SELECT name FROM people") == [("2",)]


def test_a_row_that_is_there_is_an_error_without_upserts_and_changes_still_find_theirs(database: Database) -> None:
    database.run(
        "CREATE TABLE people (id bigint PRIMARY KEY, name text)", "INSERT INTO people VALUES (1, 'a'), (2, 'b')"
    )
    of = database.sink(enable_upsert=False, table="people", primary_keys=["id"], **EXACT)
    write(of, batch((BEFORE, 1, "a"), (AFTER, 1, "x"), (GONE, 2, None), (NEW, 3, "c")))
    assert database.run("SELECT * FROM people ORDER BY id") == [(1, "x"), (3, "c")]
    with pytest.raises(CommitError, match="Duplicate entry '1' for key 'PRIMARY'"):
        write(of, batch((NEW, 1, "y")), unit=2)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    ("modes", "found"),
    [
        ({}, [(1, "a", None), (7, "x", "y")]),
        ({"data_save_mode": "DROP_DATA"}, [(1, "a", None)]),
        ({"schema_save_mode": "RECREATE_SCHEMA"}, [(1, "a")]),
        (
            {"data_save_mode": "CUSTOM_PROCESSING", "custom_sql": "UPDATE people SET old = 'z'"},
            [(1, "a", None), (7, "x", "z")],
        ),
        ({"data_save_mode": "ERROR_WHEN_DATA_EXISTS"}, "ERROR_WHEN_DATA_EXISTS"),
    ],
)
def test_save_modes_act_once(database: Database, modes: dict[str, Any], found: Any, exact: bool) -> None:
    database.run("CREATE TABLE people (id bigint, name text, old text)", "INSERT INTO people VALUES (7, 'x', 'y')")
    of, here = database.sink(generate_sink_sql=True, is_exactly_once=exact, table="people", **modes), place()
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
    assert database.run("SELECT * FROM people ORDER BY id") == found


def test_a_row_that_is_longer_than_a_statement_is_refused(database: Database) -> None:
    database.run("SET GLOBAL max_allowed_packet = 1048576")
    forget()  # a connection keeps the limit of when it was opened
    try:
        of = database.sink(generate_sink_sql=True, table="people")
        write(of, *(batch((NEW, number, "x" * 300_000)) for number in range(9)))
        assert database.run("SELECT count(*), min(length(name)) FROM people") == [(9, 300_000)]
        said = r"people.* row 2 of a batch takes 1,100,\d+ bytes.* 1,048,576.*max_allowed_packet"
        with pytest.raises(RowError, match=said):
            write(of, batch((NEW, 9, "x"), (NEW, 10, "x" * 1_100_000)))
    finally:
        database.run("SET GLOBAL max_allowed_packet = 16777216")
        forget()


def test_a_quota_of_writes_that_is_used_up_costs_a_try_and_no_row(database: Database) -> None:
    database.run("DROP USER IF EXISTS limited", "CREATE USER limited IDENTIFIED BY 'secret-one'")
    database.run("GRANT ALL ON shop.* TO limited WITH MAX_UPDATES_PER_HOUR 6")
    of = database.sink(user="limited", password="secret-one", table="people", batch_size=1, **EXACT)
    here = place()
    of.prepare(sink_place(here))
    with pytest.raises(SinkError, match="has exceeded the 'max_updates_per_hour' resource") as caught:
        stage(of, SCHEMA, [numbered(number, 1) for number in range(9)], here)
    assert caught.value.retryable
    assert "secret-one" not in str(caught.value)
    forget()
    database.run("GRANT ALL ON shop.* TO limited WITH MAX_UPDATES_PER_HOUR 0", "FLUSH USER_RESOURCES")
    again = place(epoch=2)
    of.prepare(sink_place(again))
    of.sweep(sink_place(again), frozenset(), final=False)
    commit(of, [stage(of, SCHEMA, [numbered(0, 9)], again)], again)
    assert database.run("SELECT count(*) FROM people") == [(9,)]
    assert database.staged() == []


def test_what_is_committed_is_not_staged_any_more(database: Database) -> None:
    of, here = database.sink(table="people", **EXACT), place()
    of.prepare(sink_place(here))
    committable = stage(of, SCHEMA, [numbered(1, 1)], here)
    assert len(database.staged()) == 1
    commit(of, [committable], here)
    assert database.staged() == []
    commit(of, [committable], here, may_be_committed=True)
    assert database.run("SELECT id FROM people") == [(1,)]


KEYS = ["a", "A", "ä", "b", "b "]


def test_new_keys_are_compared_by_their_bytes(database: Database) -> None:
    """Keys that differ in case, accents or spaces at the end were merged, because the default collation was."""
    for table, more in (("people", {}), ("versions", {"keep_history": True})):
        rows = pa.RecordBatch.from_pydict({"k": KEYS, "n": [1, 2, 3, 4, 5]})
        of, here = database.sink(table=table, write_mode="merge", merge_key="k", **more), place(job_id=table)
        of.prepare(sink_place(here))
        commit(of, [stage(of, TableSchema(table="t", columns=rows.schema), [rows], here)], here)
        assert sorted(name for (name,) in database.run(f"SELECT k FROM {table}")) == sorted(KEYS)
    (made,) = database.run("SHOW CREATE TABLE people")
    assert "COLLATE utf8mb4_nopad_bin NOT NULL" in made[1]


def test_rows_that_an_existing_collation_merges_are_counted(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    database.run("CREATE TABLE people (k varchar(20) PRIMARY KEY, n int) COLLATE utf8mb4_general_ci")
    database.run("INSERT INTO people VALUES ('B', 0)")
    rows = pa.RecordBatch.from_pydict({"k": KEYS, "n": [1, 2, 3, 4, 5]})
    of, here = database.sink(table="people", write_mode="merge", merge_key="k"), place()
    of.prepare(sink_place(here))
    with caplog.at_level("WARNING"):
        commit(of, [stage(of, TableSchema(table="t", columns=rows.schema), [rows], here)], here)
    assert len(database.run("SELECT k FROM people")) == 2
    assert "4 rows of the table shop.people merged into a row with a different key" in caplog.text.replace(
        database.name, "shop"
    )
