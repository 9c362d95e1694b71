"""Values that a table cannot hold are refused in the task, with row and column; none of them becomes another one.

Databases named the column seldom and the row never; SQLite kept the first 15 digits of a number and null for NaN.
"""

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.testing import read
from seatunnel_core.connector_api.testing.drive import commit, place, sink_place, stage
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.errors import RowError
from seatunnel_core.rows.batch import TableSchema
from tests.connectors.jdbc.databases import Database, empty
from tests.shared import EACH

BEYOND = pa.array([20_000_000], pa.int32()).view(pa.date32())
LATE = pa.array([10**18], pa.int64()).view(pa.timestamp("us"))
MIDNIGHT = pa.array([86_400_000_000], pa.int64()).view(pa.time64("us"))
REFUSED: dict[str, list[tuple[str, pa.Array]]] = {
    "postgresql": [
        ("uuid", pa.array(["none"])),
        ("jsonb", pa.array(["{"])),
        ("inet", pa.array(["10.0.0"])),
        ("mood", pa.array(["sad"])),
        ("varchar(3)", pa.array(["four"])),
        ("text", pa.array(["a\0b"])),
        ("numeric(4,2)", pa.array([Decimal("100.00")])),
        ("numeric(4,2)", pa.array([Decimal("1.255")])),
        ("smallint", pa.array([40_000])),
        ("real", pa.array([1e300])),
        ("interval", pa.array(["soon"])),
        ("uuid[]", pa.array([["none"]])),
    ],
    "mysql": [
        ("varchar(3)", pa.array(["four"])),
        ("enum('a','b')", pa.array(["c"])),
        ("tinyint", pa.array([400])),
        ("bigint unsigned", pa.array([-1])),
        ("decimal(4,2)", pa.array([Decimal("100.00")])),
        ("double", pa.array([float("nan")])),
        ("double", pa.array([float("inf")])),
        ("float", pa.array([1e300])),
        ("datetime", LATE),
        ("date", BEYOND),
        ("time", MIDNIGHT),
        ("varchar(9) character set latin1", pa.array(["🚲"])),
    ],
    "sqlite": [
        ("double", pa.array([float("nan")])),
        ("decimal(38,18)", pa.array([Decimal("12345678901234567.125")])),
        ("decimal(30,0)", pa.array([Decimal("123456789012345678901")])),
        ("timestamp", LATE),
        ("date", BEYOND),
        ("time", MIDNIGHT),
        ("integer", pa.array([Decimal("1.5")])),
        ("integer", pa.array([2**64 - 1], pa.uint64())),
    ],
}


@pytest.fixture(params=EACH)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    found = empty(request.param, tmp_path)
    if found.kind == "postgresql":
        found.run("CREATE TYPE mood AS ENUM ('calm')")
    yield found
    forget()


def write(of: Database, values: pa.Array, **options: Any) -> None:
    """One unit with the values, of which each is in a row with the number of it."""
    rows = pa.RecordBatch.from_arrays([pa.array(range(1, len(values) + 1)), values], names=["id", "v"])
    schema = TableSchema(table="t", columns=rows.schema)
    sink, here = of.sink(generate_sink_sql=True, table="t", **options), place()
    sink.prepare(sink_place(here))
    commit(sink, [stage(sink, schema, [rows], here)], here)


@pytest.mark.parametrize("options", [{}, {"is_exactly_once": True, "primary_keys": ["id"]}])
def test_a_value_that_the_table_cannot_hold_is_refused_at_its_row(database: Database, options: Any) -> None:
    wrong: list[tuple[object, ...]] = []
    for declared, value in REFUSED[database.kind]:
        database.run("DROP TABLE IF EXISTS t", f"CREATE TABLE t (id int, v {declared})")
        values = pa.concat_arrays([pa.nulls(2, value.type), value, pa.nulls(2, value.type), value])
        try:
            write(database, values, **options)
        except RowError as error:
            said = str(error)
            if "row 3" not in said or "column 'v'" not in said:
                wrong.append((declared, said))
        else:
            wrong.append((declared, database.run("SELECT * FROM t")))
        if database.run("SELECT count(*) FROM t")[0][0]:
            wrong.append((declared, "rows are there"))
    assert not wrong


def test_what_a_new_table_is_made_for_comes_back_as_it_was(database: Database) -> None:
    exact = pa.array([Decimal("12345678901234567890.123456789012345678"), Decimal("-0.000000000000000001"), None])
    for values in (
        exact,
        pa.array([2**64 - 1, 0, None], pa.uint64()),
        pa.array([Decimal(10**38 - 1), Decimal(0)], pa.decimal128(38, 0)),
        pa.array([Decimal("1.25"), None], pa.decimal128(10, 2)),
        pa.array([datetime.max, datetime(1000, 1, 1)], pa.timestamp("us")),
        pa.array([date.max, date(1000, 1, 1)]),
        pa.array([0.1, 1e300, 5e-324]),
        pa.array([2**63 - 1, -(2**63)]),
    ):
        database.run("DROP TABLE IF EXISTS t")
        write(database, values)
        rows = sorted(read(database.source(query="SELECT * FROM t")), key=lambda row: row["id"])
        assert [row["v"] for row in rows] == values.to_pylist(), values.type


@pytest.mark.servers
@pytest.mark.parametrize("options", [{}, {"is_exactly_once": True}, {"primary_keys": ["id"]}])
def test_a_column_that_numbers_rows_takes_the_numbers_that_they_have(tmp_path: Path, options: Any) -> None:
    database = empty("postgresql", tmp_path)
    database.run("CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v int)")
    write(database, pa.array([7, 8]), **options)
    assert database.run("SELECT * FROM t") == [(1, 7), (2, 8)]
