"""The source ``Jdbc`` on DuckDB, and why there is no sink."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connector_api.testing import SourceConformance, options_of, plan, read
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.jdbc.sink import JdbcSink
from seatunnel_core.connectors.jdbc.source import JdbcSource
from seatunnel_core.errors import RowError, SourceError, UsageError

ROWS = [{"id": number, "name": None if number % 7 == 0 else f"näme '{number}"} for number in range(1, 301)]


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Path]:
    forget()
    with closing(duckdb.connect(str(tmp_path / "shop.duckdb"))) as database:
        database.execute("CREATE TABLE people (id BIGINT PRIMARY KEY, name VARCHAR)")
        name = "CASE WHEN i % 7 <> 0 THEN 'näme ''' || i END"
        database.execute(f"INSERT INTO people SELECT i, {name} FROM range(1, 301) AS numbers(i)")
    yield tmp_path / "shop.duckdb"
    forget()


def source(shop: Path, **options: Any) -> JdbcSource:
    return JdbcSource(options_of(JdbcSource, {"url": f"jdbc:duckdb:{shop}", **options}))


class TestJdbcOnDuckDB(SourceConformance):
    source_class = JdbcSource

    @pytest.fixture(autouse=True)
    def database(self, shop: Path) -> None:
        self.shop = shop

    def options(self) -> Mapping[str, Any]:
        return {"url": f"jdbc:duckdb:{self.shop}", "table_path": "main.people", "split.size": 40, "fetch_size": 7}

    def expected(self) -> Sequence[Mapping[str, Any]]:
        return ROWS


TYPES: list[tuple[str, str, Any]] = [
    ("UTINYINT", "255", 255),
    ("UBIGINT", "18446744073709551615", Decimal(2**64 - 1)),
    ("HUGEINT", "-170141183460469231731687303715884105", Decimal(-170141183460469231731687303715884105)),
    ("DECIMAL(38,4)", "1.5", Decimal("1.5000")),
    ("FLOAT", "1.5", 1.5),
    ("DATE", "'2024-02-29'", date(2024, 2, 29)),
    ("TIMESTAMP_NS", "'2024-02-29 01:02:03.000004'", datetime(2024, 2, 29, 1, 2, 3, 4)),
    ("TIMESTAMPTZ", "'2024-02-29 01:02:03+02'", datetime(2024, 2, 28, 23, 2, 3, tzinfo=UTC)),
    ("BLOB", "'\\x00\\xFF'::BLOB", b"\x00\xff"),
    ("UUID", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    ("JSON", "'{\"a\": 1}'", '{"a": 1}'),
    ("ENUM('glad', 'sad')", "'glad'", "glad"),
    ("INTERVAL", "INTERVAL 1 DAY", "1 day"),
    ("BIT", "'101'", "101"),
    ("INTEGER[]", "[1, NULL]", [1, None]),
    ("STRUCT(a INTEGER)", "{'a': 1}", "{'a': 1}"),
]


@pytest.mark.parametrize("how", ["table_path", "query"])
def test_each_type_becomes_a_value_of_rows(shop: Path, how: str) -> None:
    with closing(duckdb.connect(str(shop))) as database:
        database.execute(f"CREATE TABLE kinds ({', '.join(f'c{n} {kind}' for n, (kind, _, _) in enumerate(TYPES))})")
        database.execute(f"INSERT INTO kinds VALUES ({', '.join(written for _, written, _ in TYPES)})")
        database.execute("INSERT INTO kinds (c0) VALUES (NULL)")
    full, empty = read(source(shop, **{how: "kinds" if how == "table_path" else "SELECT * FROM kinds -- all"}))
    assert dict(zip((kind for kind, _, _ in TYPES), full.values(), strict=True)) == {k: v for k, _, v in TYPES}
    assert set(empty.values()) == {None}


@pytest.mark.parametrize(
    ("declared", "value", "said"),
    [
        ("TIMESTAMP_NS", "'2024-01-01 00:00:00.123456789'", "'2024-01-01 00:00:00.123456789' does not fit"),
        ("TIMESTAMP_NS", "'infinity'", "'2262-04-11 23:47:16.854775807' does not fit"),
        (
            "HUGEINT",
            "170141183460469231731687303715884105727",
            "'170141183460469231731687303715884105727' does not fit",
        ),
        ("TIME", "'24:00:00'", "'24:00:00' is outside"),
        ("DATE", "'infinity'", "'infinity' is outside"),
        ("TIMESTAMPTZ", "'-infinity'", "'-infinity' is outside"),
        ("TIME[]", "['24:00:00'::TIME]", "an element is outside"),
        ("DATE[]", "['2024-01-01'::DATE, 'infinity'::DATE]", "an element is outside"),
        ("TIMESTAMP[]", "['infinity'::TIMESTAMP]", "an element is outside"),
    ],
)
def test_what_rows_do_not_hold_is_refused_at_its_row(shop: Path, declared: str, value: str, said: str) -> None:
    """Nanoseconds were rounded; a number of 39 digits and elements of arrays were errors without a row, or none."""
    with closing(duckdb.connect(str(shop))) as database:
        database.execute(f"CREATE TABLE t (id INTEGER PRIMARY KEY, v {declared})")
        database.execute(f"INSERT INTO t VALUES (1, NULL), (2, {value})")
    of = source(shop, table_path="t", partition_num=1)
    with pytest.raises(RowError, match=rf"row 2 with id = 2, column 'v': {re.escape(said)}"):
        read(of)


@pytest.mark.parametrize("column", ["id", "name"])
def test_a_table_is_divided(shop: Path, column: str) -> None:
    of = source(shop, table_path="people", partition_column=column, partition_num=4)
    found = plan(of, PlanningContext(parallelism=2))
    assert len(found.splits) == 4
    assert sorted(row["id"] for row in read(of, found)) == list(range(1, 301))


def test_a_file_that_is_not_there_and_one_that_somebody_writes_are_reported(shop: Path) -> None:
    with pytest.raises(SourceError, match=r"the file .* does not exist"):
        source(shop.with_name("absent"), query="SELECT 1").require_input()
    with pytest.raises(SourceError, match="nam"):
        source(shop, query="SELECT nam FROM people").require_input()
    assert source(shop, query="SELECT 1")._dialect.may_pass(duckdb.IOException("Could not set lock on file"))


def test_no_sink_writes_it(shop: Path) -> None:
    options = {"url": f"jdbc:duckdb:{shop}", "generate_sink_sql": True, "table": "people"}
    with pytest.raises(UsageError, match="only one process at a time can open a DuckDB file for writing"):
        JdbcSink(options_of(JdbcSink, options))
