"""Rows that are divided by a column of any type: each of them once, with nulls and extreme values.

Borders were computed in one order and compared in another for ``enum`` and ``set`` of MySQL: 1,000 rows became 1,750.
Where a type has no smallest value in SQL, such as ``uuid``, a table with such a key could not be read at all.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connector_api.testing import plan, read
from seatunnel_core.connectors.jdbc.pool import forget
from tests.connectors.jdbc.databases import Database, empty
from tests.shared import EACH

UUIDS = [
    "'00000000-0000-0000-0000-000000000001'",
    "'123e4567-e89b-12d3-a456-426655440000'",
    "'ffffffff-ffff-1fff-8fff-ffffffffffff'",
]
TEXTS = [
    "''",
    "'a'",
    "'A'",
    "'b'",
    "' x'",
    "'Z'",
    "'ä'",
    "'Ae'",
    "'é1'",
    "'z'",
    "'_'",
    "'~'",
    "'[x'",
    "'10'",
    "'9'",
    "'it''s %'",
]
LONG = [f"'{'x' * 1100}{letter}'" for letter in "zayb"]

POSTGRES: list[tuple[str, Sequence[str]]] = [
    ("uuid", UUIDS),
    ("own_uuid", UUIDS),
    ("bytea", [r"'\x00'", r"'\xff00'", r"'\x27'", "''"]),
    ("inet", ["'10.0.0.1'", "'10.0.0.0/8'", "'::1'", "'9.1.1.1'"]),
    ("cidr", ["'10.0.0.0/8'", "'::1/128'", "'9.0.0.0/8'"]),
    ("macaddr", ["'08:00:2b:01:02:03'", "'00:00:00:00:00:01'"]),
    ("interval", ["'1 mon'", "'30 days'", "'-1 day'", "'178000000 years'", "'100:00:00'"]),
    ("mood", ["'wild'", "'calm'", "'angry'"]),
    ("numeric", ["1e100", "-1e100", "'NaN'", "'Infinity'", "'-Infinity'", "0", "1.5", "1e-10"]),
    ("numeric(5,2)", ["1.5", "-999.99", "'NaN'", "0"]),
    ("money", ["1.5", "-2", "1000000"]),
    ("real", ["'NaN'", "'Infinity'", "'-Infinity'", "0.1", "1e30", "-0.1"]),
    ("double precision", ["'NaN'", "'Infinity'", "'-Infinity'", "0.1", "1e300", "0.30000000000000004"]),
    ("smallint", ["-32768", "32767", "0"]),
    ("bigint", ["-9223372036854775808", "9223372036854775807", "0", "9007199254740993"]),
    ("boolean", ["true", "false"]),
    ("date", ["'infinity'", "'-infinity'", "'4713-01-01 BC'", "'20000-01-01'", "'2024-02-29'"]),
    ("timestamp", ["'infinity'", "'-infinity'", "'0044-03-15 BC'", "'20000-01-01'", "'2024-02-29 01:02:03.000004'"]),
    (
        "timestamptz",
        ["'infinity'", "'-infinity'", "'0044-03-15 BC'", "'2024-10-27 02:30:00+02'", "'2024-10-27 02:10:00+01'"],
    ),
    ("time", ["'24:00'", "'00:00'", "'12:00:00.000001'"]),
    ("timetz", ["'24:00+02'", "'00:00+14'", "'12:00-02'"]),
    ("text", [*TEXTS, *LONG]),
    ('text COLLATE "C"', TEXTS),
    ("varchar(2000)", [*TEXTS, *LONG]),
    ("char(6)", ["'a'", "'A'", "'ab'", "''"]),
    ('"char"', ["'a'", r"'\351'", "'z'", "'\\'"]),
    ("name", ["'a'", "'B'", "'ä'"]),
    ("int4range", ["'[1,5)'", "'empty'", "'(,)'", "'[2,3)'"]),
    ("tstzrange", ["'[2024-01-01,2024-02-01)'", "'empty'"]),
    ("posd", ["1", "2", "3"]),
    ("oid", ["1", "4294967295"]),
    ("bit(8)", ["B'00000000'", "B'10000000'", "B'11111111'"]),
    ("varbit", ["B''", "B'1'", "B'01'"]),
    ("text[]", ["'{a,NULL}'", "'{}'", "'{{a,b},{c,d}}'"]),
    ("int[]", ["'{10}'", "'{9}'", "'{1,2}'"]),
    ("jsonb", ["'{\"a\": 1}'", "'1'", "'null'", "'[1e400]'", "'\"x\"'"]),
    ("json", ["'{\"a\": 1}'", "'1'", "'null'"]),
    ("xml", ["'<a/>'", "'x'"]),
    ("point", ["'(1,2)'", "'(NaN,1)'"]),
    ("box", ["'(1,2),(3,4)'"]),
    ("tsvector", ["'a b'", "''"]),
    ("pg_lsn", ["'0/1'", "'F/0'"]),
    ("pair", ["'(1,a)'", "'(0,b)'"]),
]

MARIADB: list[tuple[str, Sequence[str]]] = [
    ("enum('z','a','m','b')", ["'z'", "'a'", "'m'", "'b'", "2"]),
    ("enum('10','9','') character set latin1", ["'10'", "'9'", "''"]),
    ("set('z','a','m','b')", ["'z'", "'a,b'", "'z,b'", "''", "15"]),
    ("bigint unsigned", ["0", "9223372036854775808", "18446744073709551615", "5"]),
    ("bigint", ["-9223372036854775808", "9223372036854775807", "9007199254740993", "9007199254740992"]),
    ("tinyint(1)", ["0", "1", "7"]),
    ("bit(1)", ["b'0'", "b'1'"]),
    ("bit(8)", ["b'0'", "b'1'", "b'11111111'", "b'10000000'"]),
    ("bit(64)", ["b'0'", "18446744073709551615", "9223372036854775808"]),
    ("year", ["1901", "1999", "2155", "0"]),
    ("float", ["0.1", "-3e38", "3e38", "0.1000001"]),
    ("double", ["0.1", "-1e308", "1e308", "0"]),
    ("decimal(65,30)", ["1.5", "0", "12345678901234567890123456789012345", "-0.000000000000000000000000000001"]),
    ("date", ["'0000-00-00'", "'2024-00-10'", "'9999-12-31'", "'2024-02-29'"]),
    ("datetime(6)", ["'0000-00-00'", "'2024-00-10'", "'9999-12-31 23:59:59.999999'", "'2024-02-29 01:02:03'"]),
    (
        "timestamp(6) null",
        [
            "'0000-00-00'",
            "'2024-10-27 00:10:00'",
            "'2024-10-27 00:50:00'",
            "'2024-10-27 01:10:00'",
            "'2024-10-27 01:30:00'",
            "'2038-01-01'",
        ],
    ),
    ("time(6)", ["'-838:59:59'", "'838:59:59'", "'00:00:00.5'", "'-00:00:00.5'", "'10:00:00'", "'9:00:00'"]),
    ("varchar(200)", [*TEXTS, r"'back\\slash'"]),
    ("varchar(200) collate utf8mb4_bin", TEXTS),
    ("varchar(200) collate utf8mb4_general_ci", TEXTS),
    ("varchar(200) collate utf8mb4_unicode_520_ci", TEXTS),
    ("varchar(200) character set latin1 collate latin1_german2_ci", TEXTS),
    ("varchar(3000)", [*TEXTS, *LONG]),
    ("char(20)", TEXTS),
    ("longtext", [*TEXTS, *LONG]),
    ("json", ["'{\"a\": 1}'", "'1'", "'null'"]),
    ("binary(4)", ["x'00000000'", "x'ff000000'", "x'7f0000aa'", "x'27000000'"]),
    ("varbinary(20)", ["x''", "x'ff'", "x'00'", "x'5c27'"]),
    ("varbinary(3000)", ["x''", "x'ff'", "repeat('y', 1100)", "repeat('y', 1101)"]),
    ("longblob", ["x''", "x'ff'", "x'00'"]),
    ("uuid", UUIDS),
    ("inet6", ["'::1'", "'10.0.0.1'", "'ff::'"]),
    ("point", ["ST_GeomFromText('POINT(1 2)')", "ST_GeomFromText('POINT(-1 2)')"]),
]

MIXED = [
    "1",
    "-9223372036854775808",
    "9223372036854775807",
    "1.5",
    "9e999",
    "'text'",
    "''",
    "'10'",
    "x'6162'",
    "x''",
    "'2024-01-01'",
    "'nul' || char(0) || 'b'",
    "'nul'",
    "'ä'",
]
SQLITE: list[tuple[str, Sequence[str]]] = [
    (kind, MIXED)
    for kind in (
        *("integer", "boolean", "varchar(20)", "text collate nocase", "text collate rtrim", "blob", "real", "", "date"),
        *("timestamp", "time", "decimal(10,2)", "numeric", "string", "uuid"),
    )
]

TYPES = {"postgresql": POSTGRES, "mysql": MARIADB, "sqlite": SQLITE}
MADE = {
    "postgresql": (
        "CREATE TYPE mood AS ENUM ('wild', 'calm', 'angry')",
        "CREATE DOMAIN posd AS int",
        "CREATE DOMAIN own_uuid AS uuid",
        "CREATE TYPE pair AS (a int, b text)",
    ),
    "mysql": ("SET GLOBAL sql_mode = ''", "SET GLOBAL time_zone = '+00:00'"),
    "sqlite": (),
}


@pytest.fixture(params=EACH)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    found = empty(request.param, tmp_path)
    found.run(*MADE[found.kind])
    yield found
    forget()
    if found.kind == "mysql":
        found.run("SET GLOBAL sql_mode = DEFAULT", "SET GLOBAL time_zone = 'SYSTEM'")


def filled(of: Database, number: int, declared: str, values: Sequence[str]) -> int:
    """A table ``t<number>`` with each value three times, and null; the number of its rows."""
    of.run(f"CREATE TABLE t{number} (id integer PRIMARY KEY, v {declared})")
    each = [*values, "NULL"] * 3
    of.run(f"INSERT INTO t{number} VALUES {', '.join(f'({row}, {value})' for row, value in enumerate(each))}")
    return len(each)


def ids(source: Any, planning: PlanningContext | None = None) -> tuple[list[int], int]:
    """Of all rows, and how many splits there were."""
    found = plan(source, planning)
    return sorted(row["id"] for row in read(source, found)), len(found.splits)


HOW = [{"partition_num": 4}, {"split.size": 2}, {"partition_num": 3, "split.string_split_mode": "charset_based"}]


def test_each_row_is_in_one_split_whatever_the_type_of_the_column(database: Database) -> None:
    alone = set()
    for number, (declared, values) in enumerate(TYPES[database.kind]):
        rows = filled(database, number, declared, values)
        for how in HOW:
            for asked in ({"table_path": f"t{number}"}, {"query": f"SELECT id, v FROM t{number}"}):
                only = _only_ids(database.source(**asked, partition_column="v", **how))  # type: ignore[arg-type]
                found, splits = ids(only, PlanningContext(parallelism=4))
                assert found == list(range(rows)), (declared, asked, how, plan(only).splits)
                alone |= {declared} if splits < 2 else set()
    assert len(alone) < len(TYPES[database.kind]) / 5, alone


def _only_ids(of: Any) -> Any:
    """Without the values, of which some are none that rows have."""
    from attrs import evolve

    of._found = tuple(evolve(found, columns=found.columns[:1]) for found in of._look())
    return of


KEYS = {
    "postgresql": [declared for declared, _ in POSTGRES if declared not in ("json", "xml", "point", "box")],
    "mysql": [
        declared
        for declared, _ in MARIADB
        if not declared.startswith(("long", "json", "point", "varchar(3", "varbinary(3"))
    ],
    "sqlite": [declared if declared != "integer" else "int" for declared, _ in SQLITE],  # else it is the row's number
}


@pytest.mark.parametrize("second", [False, True])
def test_each_row_is_in_one_split_whatever_the_type_of_the_key(database: Database, second: bool) -> None:
    types = {"int": MIXED, **dict(TYPES[database.kind])}
    for number, declared in enumerate(KEYS[database.kind]):
        key = "v, id" if second else "v"
        database.run(f"CREATE TABLE t{number} (id integer, v {declared} NOT NULL, PRIMARY KEY ({key}))")
        ignore = {"sqlite": "OR IGNORE", "mysql": "IGNORE", "postgresql": ""}[database.kind]
        conflict = "ON CONFLICT DO NOTHING" if database.kind == "postgresql" else ""
        for row, value in enumerate(list(types[declared]) * 2):
            database.run(f"INSERT {ignore} INTO t{number} VALUES ({row}, {value}) {conflict}")
        rows = sorted(row for (row,) in database.run(f"SELECT id FROM t{number}"))
        of = database.source(table_path=f"t{number}", use_select_count=True, **{"split.size": 1})
        found, splits = ids(_only_ids(of))
        assert found == rows, declared
        assert splits > 1 or len(rows) < 3, declared


def test_a_plan_says_where_the_order_of_a_column_is_not_used(
    database: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from seatunnel_core.cli.main import main

    declared, said = {
        "mysql": ("enum('b','a')", "default is split by v (enum) in the order of the values' internal numbers"),
        "postgresql": ("json", "default is split by v (json) in string order"),
        "sqlite": ("integer", ""),
    }[database.kind]
    database.run(f"CREATE TABLE t (v {declared})")
    written = "\n".join(f'{name} = "{value}"' for name, value in database.options.items())
    job = tmp_path / "job.conf"
    job.write_text(
        f'source {{ Jdbc {{ {written}\n query = "SELECT v FROM t", partition_column = v }} }}\nsink {{ Console {{ }} }}'
    )
    assert main(["-c", str(job), "--check"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert said in out
    assert ("but no index supports this order, so each split reads the whole table" in out) == bool(said)
