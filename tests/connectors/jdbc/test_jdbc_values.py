"""Values that rows cannot hold are refused at their row, with column and value; all others come as the database has
them.

They became other values, in other sinks other ones, or ended in an exception of Python: ``infinity`` a past date,
``24:00`` midnight, an array of several dimensions a flat one, 'false' of SQLite true and its 1.5 a 1.
"""

import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.testing import options_of, read
from seatunnel_core.connector_api.testing.drive import Skipped, commit, place, sink_place, stage
from seatunnel_core.connectors.jdbc.address import address_of
from seatunnel_core.connectors.jdbc.column import Column
from seatunnel_core.connectors.jdbc.databases.dialect import Dialect, dialect_of
from seatunnel_core.connectors.jdbc.databases.postgresql_values import column_of, rows_of, with_typed_array
from seatunnel_core.connectors.jdbc.databases.sqlite_values import array_of
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.jdbc.sink import JdbcSink
from seatunnel_core.errors import RowError
from seatunnel_core.rows.batch import TableSchema
from tests.connectors.jdbc.databases import Database, empty
from tests.shared import EACH

HELD: dict[str, list[tuple[str, str, Any]]] = {
    "postgresql": [
        ("inet", "'10.0.0.1'", "10.0.0.1"),
        ("inet", "'10.0.0.0/24'", "10.0.0.0/24"),
        ("inet", "'::1'", "::1"),
        ("inet[]", "'{10.0.0.1,NULL,::1/64}'", ["10.0.0.1", None, "::1/64"]),
        ("inet[]", "'{}'", []),
        ("cidr", "'10.0.0.1/32'", "10.0.0.1/32"),
        ("date", "'0001-01-01'", date(1, 1, 1)),
        ("date", "'9999-12-31'", date(9999, 12, 31)),
        ("timestamp", "'9999-12-31 23:59:59.999999'", datetime.max),
        ("timestamptz", "'0001-01-01 00:00:00+00'", datetime.min.replace(tzinfo=UTC)),
        ("time", "'23:59:59.999999'", time.max),
        ("interval", "'-178000000 years'", "-178000000 years"),
        ("numeric", "'99999999999999999999.999999999999999999'", Decimal("99999999999999999999.999999999999999999")),
        ("numeric(76,0)", "9" * 76, Decimal("9" * 76)),
        ("char(3)[]", "'{a}'", ["a  "]),
        ("varchar(3)[]", "'{a,NULL}'", ["a", None]),
        ("int[]", "'{}'", []),
        ("timetz", "'24:00+02'", "24:00:00+02"),
        ("money", "-1.5", "-$1.50"),
        ("jsonb", "'{\"a\": 1e400}'", '{"a": 1' + "0" * 400 + "}"),
        ("real", "'NaN'", None),
        ("double precision", "'-Infinity'", float("-inf")),
        ("int4range", "'[1,)'", "[1,)"),
        ("bit(3)", "B'001'", "001"),
    ],
    "mysql": [
        ("bigint unsigned", "18446744073709551615", Decimal(18446744073709551615)),
        ("time(6)", "'23:59:59.999999'", time.max),
        ("year", "0", 0),
        ("datetime(6)", "'9999-12-31 23:59:59.999999'", datetime.max),
        ("bit(64)", "b'1'", b"\0\0\0\0\0\0\0\x01"),
        ("char(3)", "'a '", "a"),
        ("binary(3)", "'a'", b"a\0\0"),
    ],
    "sqlite": [
        ("boolean", "'false'", False),
        ("boolean", "'TRUE'", True),
        ("boolean", "0", False),
        ("timestamp", "'2024-01-01 10:00:00'", datetime(2024, 1, 1, 10)),
        ("timestamp", "'2024-01-01T10:00:00.123456Z'", datetime(2024, 1, 1, 10, 0, 0, 123456)),
        ("timestamp", "'2024-01-01'", datetime(2024, 1, 1)),
        ("date", "'2024-01-01 00:00:00'", date(2024, 1, 1)),
        ("integer", "9223372036854775807", 9223372036854775807),
        ("integer", "2.0", 2),
        ("decimal(10,2)", "0.1 + 0.2", Decimal("0.30")),
        ("decimal(20,0)", "1234567890123456789", Decimal(1234567890123456789)),
        ("decimal(50,2)", "1.5", Decimal("1.50")),
        ("decimal_text(76,0)", f"'{'9' * 76}'", Decimal("9" * 76)),
        ("decimal(100,2)", "1.5", "1.5"),
        ("numeric(0,0)", "1", "1"),
        ("text", "5", "5"),
        ("blob", "'ab'", b"ab"),
        ("real", "5", 5.0),
        ("", "5", "5"),
    ],
}
REFUSED: dict[str, list[tuple[str, str, str]]] = {
    "postgresql": [
        *((kind, "'infinity'", "'infinity' is outside") for kind in ("date", "timestamp", "timestamptz")),
        *((kind, "'-infinity'", "'-infinity' is outside") for kind in ("date", "timestamp", "timestamptz")),
        *((kind, "'0044-03-15 BC'", "is outside the years 1 to 9999") for kind in ("date", "timestamp")),
        *((kind, "'20000-01-01'", "is outside the years 1 to 9999") for kind in ("date", "timestamp", "timestamptz")),
        ("date", "'5874897-12-31'", "is outside"),
        ("timestamp", "'294276-12-31 23:59:59.999999'", "is outside"),
        ("time", "'24:00'", "'24:00:00' is outside"),
        ("int[]", "'{{1,2},{3,4}}'", "'{{1,2},{3,4}}' has several dimensions"),
        ("text[]", "'{{a},{b}}'", "has several dimensions"),
        ("uuid[]", f"array[array['{'0' * 32}'::uuid]]", "has several dimensions"),
        *((kind, f"'{value}'", f"'{value}' does not fit") for kind in ("numeric", "numeric(5,2)")
          for value in ("NaN", "Infinity") if kind == "numeric" or value == "NaN"),
        ("numeric", "1e30", "does not fit"),
        ("numeric", "1e-19", "does not fit"),
    ],
    "mysql": [
        ("time", "'25:00:00'", "'25:00:00' does not fit"),
        ("time", "'-00:00:01'", "'-00:00:01' does not fit"),
        ("tinyint(1)", "5", "5 is neither 0 nor 1"),
        ("date", "'0000-00-00'", "'0000-00-00' does not fit"),
        ("date", "'0000-01-01'", "is outside the years 1 to 9999"),
        ("datetime", "'0000-01-01'", "is outside the years 1 to 9999"),
        ("datetime", "'2024-00-10'", "does not fit"),
    ],
    "sqlite": [
        ("boolean", "'maybe'", "'maybe' does not fit: it is neither true nor false"),
        ("boolean", "2", "it is neither true nor false"),
        ("timestamp", "1704103200", "it is a number in an unknown unit"),
        ("timestamp", "2460310.9166666665", "it is a number in an unknown unit"),
        ("timestamp", "'2024-01-01 10:00:00+02:00'", "a time zone other than UTC"),
        ("timestamp", "'2024-01-01 10:00:00.1234567'", "more precise than a microsecond"),
        ("timestamp", "'yesterday'", "does not fit"),
        ("date", "'2024-01-01 10:00:00'", "it contains a time of day; expected only a date"),
        ("date", "1704103200", "it is a number in an unknown unit"),
        ("time", "'24:00:00'", "does not fit"),
        ("time", "'12:00:00.1234567'", "more precise than a microsecond"),
        ("integer", "1.5", "1.5' does not fit: it is not a whole number"),
        ("integer", "'ten'", "it is not a whole number"),
        ("integer", "x'6162'", "it is not a whole number"),
        ("decimal(10,2)", "1.255", "more than 2 digits"),
        ("decimal(10,2)", "'ten'", "it is not a number"),
        ("decimal(10,2)", "'1_0'", "it is not a number"),
        ("decimal(10,2)", "'１２'", "it is not a number"),
        ("decimal(10,2)", "9e999", "it is not a finite number"),
        ("decimal(10,2)", "123456789012", "does not fit"),
        ("real", "'ten'", "it is not a floating-point number"),
        ("text", "x'6162'", "it contains bytes, not text"),
        ("text", "cast(x'ff' as text)", "can't encode"),
        ("blob", "5", "it is a number, not bytes"),
        ("", "x'6162'", "it contains bytes, not text"),
    ],
}  # fmt: skip


@pytest.fixture(params=EACH)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    found = empty(request.param, tmp_path)
    loose = found.kind == "mysql"
    found.run(*(["SET GLOBAL sql_mode = ''"] if loose else []))
    yield found
    forget()
    found.run(*(["SET GLOBAL sql_mode = DEFAULT"] if loose else []))


def filled(of: Database, number: int, declared: str, values: Sequence[str]) -> dict[str, Any]:
    """A table, as the options of a source that reads all of it at once."""
    of.run(f"CREATE TABLE t{number} (id int PRIMARY KEY, v {declared})")
    of.run(f"INSERT INTO t{number} VALUES {', '.join(f'({row}, {value})' for row, value in enumerate(values, 1))}")
    return {"table_path": f"t{number}", "partition_num": 1}


def test_what_rows_hold_comes_as_the_database_has_it(database: Database) -> None:
    wrong: list[tuple[object, ...]] = []
    for number, (declared, written, value) in enumerate(HELD[database.kind]):
        found = [row["v"] for row in read(database.source(**filled(database, number, declared, [written, "NULL"])))]
        if found != [value, None] and written != "'NaN'":
            wrong.append((declared, written, found))
    assert not wrong


def test_what_rows_do_not_hold_is_refused_at_its_row(database: Database) -> None:
    wrong: list[tuple[object, ...]] = []
    for number, (declared, written, said) in enumerate(REFUSED[database.kind]):
        of = database.source(**filled(database, number, declared, ["NULL", "NULL", written]))
        try:
            rows = read(of)
        except RowError as error:
            told = str(error)
            if said not in told or "row 3 with id = 3, column 'v'" not in told:
                wrong.append((declared, written, told))
        else:
            wrong.append((declared, written, rows))
    assert not wrong


def test_such_rows_are_left_out_where_the_job_says_so(database: Database) -> None:
    declared, written, _ = REFUSED[database.kind][0]
    of = database.source(**filled(database, 0, declared, [written, "NULL", written]), fetch_size=2)
    skipped = Skipped(fail=False)
    assert [row["id"] for row in read(of, context=skipped)] == [2]
    assert [f"row {row} with id = {row}, column 'v'" in told for row, told in zip((1, 3), skipped.errors, strict=True)]


def test_such_values_are_null_where_the_job_says_so(database: Database) -> None:
    declared, written, said = REFUSED[database.kind][0]
    options = filled(database, 0, declared, [written, "NULL", written])
    of = database.source(**options, fetch_size=2, row_error_handle_way="NULL")
    noted = Noting()
    assert read(of, context=noted) == [{"id": row, "v": None} for row in (1, 2, 3)]
    assert [
        said in told and f"row {row} with id = {row}" in told for row, told in zip((1, 3), noted.notes, strict=True)
    ]


class Noting(Skipped):
    """A context that keeps the examples of what it is to note."""

    def __init__(self) -> None:
        super().__init__()
        self.notes: list[str] = []

    def note(self, what: str, example: str, rows: int = 1) -> None:
        assert what == "contain a value that no column type can represent; it was replaced by null"
        self.notes.append(example)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("keys", [[], ["id"]])
def test_columns_that_the_database_computes_are_read_and_not_written(
    database: Database, keys: list[str], exact: bool
) -> None:
    """SQLite did not tell them, and a copy of a table with one ended in an error of the database."""

    database.run("CREATE TABLE t (id int PRIMARY KEY, twice int GENERATED ALWAYS AS (id * 2) STORED, more int)")
    columns = pa.schema([("id", pa.int32()), ("twice", pa.int32()), ("more", pa.int32())])
    schema = TableSchema(table="t", columns=columns)
    of, here = database.sink(generate_sink_sql=True, table="t", is_exactly_once=exact, primary_keys=keys), place()
    of.prepare(sink_place(here))
    rows = pa.RecordBatch.from_pylist([{"id": 1, "twice": 7, "more": 3}], schema=columns)
    commit(of, [stage(of, schema, [rows], here)], here)
    assert read(database.source(table_path="t")) == [{"id": 1, "twice": 2, "more": 3}]


def postgresql() -> Dialect:
    return dialect_of(address_of(options_of(JdbcSink, {"url": "jdbc:postgresql://localhost/shop"})), 1)


@pytest.mark.parametrize(
    ("base", "declared", "kind", "text"),
    [
        ("_numeric", "numeric(10,2)[]", pa.decimal128(10, 2), "1.25"),
        ("_numeric", "numeric[]", pa.decimal128(38, 18), "1.25"),
        ("_numeric", "numeric(50,2)[]", pa.decimal256(50, 2), "1.25"),
        ("_timestamp", "timestamp without time zone[]", pa.timestamp("us"), "2024-02-29 10:00:00"),
        ("_timestamp", "timestamp(3) without time zone[]", pa.timestamp("us"), "2024-02-29 10:00:00"),
        ("_timestamptz", "timestamp with time zone[]", pa.timestamp("us", "UTC"), "2024-02-29 10:00:00Z"),
        ("_date", "date[]", pa.date32(), "2024-02-29"),
        ("_uuid", "uuid[]", pa.string(), "x"),
        ("_varchar", "character varying(5)[]", pa.string(), "x"),
    ],
)
def test_arrays_keep_the_type_of_their_elements(base: str, declared: str, kind: pa.DataType, text: str) -> None:
    """They came as arrays of texts."""
    column = with_typed_array(column_of("v", -1, base, "b", declared, True))
    assert column.arrow == pa.list_(kind)
    sent = pa.list_(pa.string()) if column.read.endswith("::text[]") else column.arrow
    given = pa.array([[text, None], None, []], pa.list_(pa.string()))
    values = given if sent == given.type else given.cast(sent)
    batch = pa.RecordBatch.from_arrays([values, pa.nulls(3, pa.string())], names=["v", "several"])
    found = rows_of(batch.slice(0, 2), [column])
    assert found.rows.column(0).type == pa.list_(kind)
    assert found.rows.column(0).to_pylist() == given.cast(pa.list_(kind)).to_pylist()[:2]


def test_a_number_that_does_not_fit_into_an_array_leaves_the_rows_around_it() -> None:
    """A null in the same batch raised a TypeError."""
    column = with_typed_array(column_of("n", -1, "_numeric", "b", "numeric(5,2)[]", True))
    texts = pa.array([["1.5"], None, ["NaN"], ["2", None]], pa.list_(pa.string()))
    batch = pa.RecordBatch.from_arrays([texts, pa.nulls(4, pa.string())], names=["n", "misfit"])
    found = rows_of(batch, [column])
    assert found.rows.column(0).to_pylist() == [[Decimal("1.50")], None, None, [Decimal("2.00"), None]]
    assert list(found.misfits) == [2]


def test_an_array_of_arrays_is_refused_with_a_message_of_ours() -> None:
    """It was SQLAlchemy's: "Do not nest ARRAY types"."""
    with pytest.raises(TypeError, match="PostgreSQL arrays cannot contain nested values"):
        postgresql().column_type(pa.list_(pa.list_(pa.int32())))


def test_moments_and_numbers_of_staged_rows_are_checked_without_pandas() -> None:
    """pyarrow imports pandas to convert a Python number, which took 0.15 s of each worker that writes a date."""
    code = """
import sys
import pyarrow as pa
from seatunnel_core.connectors.jdbc.databases.postgresql_values import before_4713_bc
from seatunnel_core.rows.batch import Batch
from seatunnel_core.rows.columns import kinds_and_numbers
days = pa.nulls(3, pa.date32())
kinds, numbers = kinds_and_numbers(Batch(table="t", rows=pa.record_batch([days], ["day"])), 5)
assert kinds.type == pa.int8() and kinds.to_pylist() == [0, 0, 0]
assert numbers.type == pa.int64() and numbers.to_pylist() == [5, 6, 7]
print(before_4713_bc(days), "pandas" in sys.modules)
"""
    found = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    assert found.stdout.split() == ["None", "False"]


def test_a_moment_before_those_of_the_server_is_found() -> None:
    """The driver ended with "Error occurred writing COPY data", without a column or a row."""
    first = pa.array([None, -210_866_803_200_000_000], pa.int64()).view(pa.timestamp("us"))
    assert postgresql().unstorable(first)[0] is None
    assert postgresql().unstorable(pa.array([datetime.min, datetime.max]))[0] is None
    earlier = pa.array([None, 0, -210_866_803_200_000_001], pa.int64()).view(pa.timestamp("us", "UTC"))
    refused, why = postgresql().unstorable(earlier)
    assert refused is not None
    assert (refused.to_pylist(), why[:20]) == ([False, False, True], "is before 4713 BC, t")
    days = pa.array([-2_440_589, -2_440_588], pa.int32()).view(pa.date32())
    refused, _ = postgresql().unstorable(days)
    assert refused is not None
    assert refused.to_pylist() == [True, False]


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (1234567890.1234567, pa.decimal128(38, 18), "1234567890.1234567"),
        (0.1 + 0.2, pa.decimal128(38, 18), "0.30000000000000004"),
        (0.1 + 0.2, pa.decimal128(10, 2), "0.3"),
        (1e22, pa.decimal128(38, 2), "1E+22"),
        ("12345678901234567890.12", pa.decimal128(38, 18), "12345678901234567890.12"),
        (2**62, pa.decimal128(38, 18), str(2**62)),
    ],
)
def test_a_decimal_of_sqlite_keeps_all_digits(value: Any, kind: pa.DataType, expected: str) -> None:
    """A number that SQLite holds as a double was cut to 15 digits."""
    found, wrong = array_of([value], Column(name="v", declared="DECIMAL", arrow=kind, read="{}"))
    assert not wrong
    assert found[0].as_py() == Decimal(expected)
