"""Random tables and changes: the log is read as mysql-replication reads it."""

import random
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.rows.kind import RowKind
from tests.connectors.mysql_log.log_servers import LogShop
from tests.servers.mariadb import PASSWORD, USER

pytestmark = pytest.mark.servers

TYPES = {
    "tinyint": lambda draw: draw.randrange(-128, 128),
    "smallint unsigned": lambda draw: draw.randrange(1 << 16),
    "mediumint": lambda draw: draw.randrange(-(1 << 23), 1 << 23),
    "int unsigned": lambda draw: draw.randrange(1 << 32),
    "bigint": lambda draw: draw.randrange(-(1 << 63), 1 << 63),
    "bigint unsigned": lambda draw: draw.randrange(1 << 64),
    "double": lambda draw: draw.uniform(-1e9, 1e9),
    "decimal(30,7)": lambda draw: f"{draw.randrange(-(10**22), 10**22)}.{draw.randrange(10**7):07d}",
    "decimal(9,9)": lambda draw: f"-0.{draw.randrange(10**9):09d}",
    "date": lambda draw: f"{draw.randrange(1000, 9999)}-{draw.randrange(1, 13)}-{draw.randrange(1, 29)}",
    "datetime(3)": lambda draw: f"{draw.randrange(1000, 9999)}-05-06 07:08:09.{draw.randrange(1000):03d}",
    "timestamp(6) NULL": lambda draw: f"2024-05-06 07:08:09.{draw.randrange(10**6):06d}",
    "time(2)": lambda draw: f"{draw.randrange(24):02d}:08:09.{draw.randrange(100):02d}",
    "year": lambda draw: draw.randrange(1901, 2156),
    "varchar(300)": lambda draw: "".join(draw.choice("aäЖ中🚲 ") for _ in range(draw.randrange(80))),
    "char(7)": lambda draw: "".join(draw.choice("aäЖ中") for _ in range(draw.randrange(7))),
    "text": lambda draw: "ab" * draw.randrange(300),
    "enum('a','bb','Ж')": lambda draw: draw.choice(["a", "bb", "Ж"]),
    "set('k','l','m')": lambda draw: draw.choice(["k", "l,m", "k,l,m"]),
    "bit(13)": lambda draw: draw.randrange(1 << 13),
}
"""Types and values that both readers return without loss; mysql-replication reads an empty SET as
null, and expects YEAR columns in MySQL's metadata of signs, where they are not.
"""


@pytest.fixture
def draw() -> random.Random:
    return random.Random(20_240_506)


def literal(value: Any) -> str:
    return "NULL" if value is None else repr(value) if not isinstance(value, str) else f"'{value}'"


def play(shop: LogShop, draw: random.Random, table: str) -> None:
    """Create a table of random columns, and change it in random ways."""
    types = list(TYPES) if shop.kind == "maria" else [kind for kind in TYPES if kind != "year"]
    kinds = draw.sample(types, draw.randrange(2, 10))
    columns = ", ".join(f"c{number} {kind}" for number, kind in enumerate(kinds))
    statements = [f"CREATE TABLE {table} (id int PRIMARY KEY, {columns}) CHARSET utf8mb4"]

    def values() -> list[str]:
        return [literal(None if draw.random() < 0.2 else TYPES[kind](draw)) for kind in kinds]

    for number in range(12):
        first = 10 * number
        rows = ", ".join(f"({first + row}, {', '.join(values())})" for row in range(draw.randrange(1, 5)))
        changed = ", ".join(f"c{column} = {value}" for column, value in enumerate(values()))
        statements += draw.choice(
            [
                [f"INSERT INTO {table} VALUES {rows}"],
                [f"INSERT INTO {table} VALUES {rows}", f"UPDATE {table} SET {changed} WHERE id % 3 = 0"],
                ["BEGIN", f"INSERT INTO {table} VALUES {rows}", f"DELETE FROM {table} WHERE id % 4 = 1", "COMMIT"],
            ]
        )
    shop.run("SET SESSION time_zone = '+00:00'", *statements)


def theirs(shop: LogShop, start: Any) -> Iterator[tuple[str, RowKind, dict[str, Any]]]:
    from pymysqlreplication import BinLogStreamReader
    from pymysqlreplication.row_event import DeleteRowsEvent, UpdateRowsEvent, WriteRowsEvent

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reader = BinLogStreamReader(
            connection_settings={"host": "127.0.0.1", "port": shop.server.port, "user": USER, "passwd": PASSWORD},
            server_id=77_002,
            log_file=start.file,
            log_pos=start.offset,
            resume_stream=True,
            only_events=[DeleteRowsEvent, UpdateRowsEvent, WriteRowsEvent],
        )
        try:
            for event in reader:
                for row in event.rows:
                    if isinstance(event, UpdateRowsEvent):
                        yield event.table, RowKind.UPDATE_BEFORE, row["before_values"]
                        yield event.table, RowKind.UPDATE_AFTER, row["after_values"]
                    else:
                        kind = RowKind.INSERT if isinstance(event, WriteRowsEvent) else RowKind.DELETE
                        yield event.table, kind, row["values"]
        finally:
            reader.close()


def plain(value: Any, arrow: pa.DataType) -> Any:
    """Return a value of mysql-replication as ours."""
    if isinstance(value, timedelta):
        return (datetime(1, 1, 1, tzinfo=UTC) + value).time()
    if isinstance(value, set):
        return ",".join(sorted(value))
    if pa.types.is_binary(arrow) and isinstance(value, str):
        return int(value, 2).to_bytes((len(value) + 7) // 8, "big")
    return value


@pytest.mark.parametrize("shop", ["maria", pytest.param("my8", marks=pytest.mark.twin)], indirect=True)
def test_changes_are_those_of_mysql_replication(shop: LogShop, draw: random.Random) -> None:
    start = shop.position()
    names = [f"t{number}" for number in range(12)]
    for name in names:
        play(shop, draw, name)
    declared = {name: shop.declared(name) for name in names}
    ours: list[tuple[str, RowKind, dict[str, Any]]] = []
    schemas: dict[str, pa.Schema] = {}
    for batch in shop.batches(start, declared):
        rows = [
            (event, position, each.table.name, RowKind(kind), row)
            for each in batch.changes
            for position, (event, kind, row) in enumerate(
                zip(each.events, each.kinds, each.rows.to_pylist(), strict=True)
            )
        ]
        ours += [row[2:] for row in sorted(rows, key=lambda each: each[:2])]
        schemas |= {each.table.name: each.table.schema for each in batch.changes}
    its = [
        (table, kind, {name: plain(value, schemas[table].field(name).type) for name, value in row.items()})
        for table, kind, row in theirs(shop, start)
    ]
    assert len(ours) > 200
    for mine, other in zip(ours, its, strict=True):
        assert mine == other
