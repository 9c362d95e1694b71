"""The tasks that read files."""

from pathlib import Path

import duckdb

from tests.bench import tables
from tests.bench.ten_tasks.place import DLT, Place
from tests.bench.ten_tasks.task import IntoDuckDB, IntoPostgres

LINEITEM = (
    "l_orderkey::BIGINT AS orderkey, l_linenumber::BIGINT AS linenumber, "
    "l_extendedprice::DECIMAL(15, 2) AS price, l_shipdate::DATE AS shipdate, l_comment AS comment"
)
"""The columns of the table that are compared: its key, and one of each type."""

ROWS_OF_ALL = 6_000_000
"""At scale factor 1."""


def lineitem(data: Path, rows: int) -> None:
    """Eight CSV files with about as many rows."""
    made = tables.lineitem(data.parent, files=8, scale=f"{rows / ROWS_OF_ALL:g}")
    data.rmdir()
    data.symlink_to(made.name)


def expected_lineitem(data: Path) -> str:
    return f"SELECT {LINEITEM} FROM read_csv('{data}/*.csv', header = true, all_varchar = true)"


def write(folder: Path, query: str, files: int = 4, format: str = "parquet") -> None:
    """Write the rows of a query, whose column ``id`` says into which of the files a row goes."""
    folder.mkdir(exist_ok=True)
    with duckdb.connect() as connection:
        for number in range(files):
            rows = f"SELECT * FROM ({query}) WHERE id % {files} = {number} ORDER BY id"
            connection.execute(f"COPY ({rows}) TO '{folder}/{number}.{format}' (FORMAT {format})")


class CsvToDuckDB(IntoDuckDB):
    name, title = "csv-to-duckdb", "CSV to DuckDB"
    rows, few = 3_000_000, 60_000
    table, columns = "lineitem", LINEITEM

    def make(self, data: Path, rows: int) -> None:
        lineitem(data, rows)

    def expected(self, place: Place) -> str:
        return expected_lineitem(place.data)


class KillInTheMiddle(IntoPostgres):
    name, title = "kill-in-the-middle", "CSV to PostgreSQL, killed in the middle and run again"
    rows, few = 600_000, 60_000
    table, columns = "lineitem", LINEITEM

    def make(self, data: Path, rows: int) -> None:
        lineitem(data, rows)

    def expected(self, place: Place) -> str:
        return expected_lineitem(place.data)


_ORDERS = """
    SELECT i AS id, {'name': 'customer ' || i % 1000, 'city': 'city ' || i % 77} AS customer,
           date '2026-01-01' + (i % 300)::INTEGER AS ordered,
           list_transform(range(1 + i % 4), lambda x: {
               'sku': 'article ' || (i * 7 + x * 13) % 500, 'quantity': 1 + (i + x) % 9, 'price': ((i + x) % 4000) / 4
           }) AS lines
    FROM range({rows}) rows(i)
"""


class NestedJsonToPostgres(IntoPostgres):
    name, title = "nested-json-to-postgres", "nested JSON to two PostgreSQL tables"
    rows, few = 100_000, 2_000

    def make(self, data: Path, rows: int) -> None:
        write(data, _ORDERS.replace("{rows}", str(rows)), format="json")

    def expected(self, place: Place) -> str:
        rows = f"read_json('{place.data}/*.json', format = 'newline_delimited')"
        return f"""
            SELECT 'order' AS kind, id::BIGINT AS id, customer.name AS what, customer.city AS place,
                   0 AS list_index, ordered::DATE AS day, 0.0::DOUBLE AS amount FROM {rows}
            UNION ALL
            SELECT 'line', id, line.sku, NULL, index - 1, NULL, (line.quantity * line.price)::DOUBLE
            FROM (SELECT id, unnest(lines) AS line, generate_subscripts(lines, 1) AS index FROM {rows})
        """

    def found(self, place: Place) -> str:
        row_id, parent_id, index = ("_row_id", "_parent_id", "_list_index")
        if place.system == DLT:
            row_id, parent_id, index = ("_dlt_id", "_dlt_parent_id", "_dlt_list_idx")
        orders, lines = place.in_postgres("orders"), place.in_postgres("orders__lines")
        there = place.servers.execute(place.database, f"SELECT to_regclass('{orders}'), to_regclass('{lines}')")
        if None in there.fetchone():
            return ""
        rows = place.copied(f"""
            SELECT 'order' AS kind, id, customer__name AS what, customer__city AS place, 0 AS list_index,
                   ordered AS day, 0.0 AS amount FROM {orders}
            UNION ALL
            SELECT 'line', o.id, l.sku, NULL, l.{index}, NULL, l.quantity * l.price
            FROM {lines} l JOIN {orders} o ON l.{parent_id} = o.{row_id}
        """)
        return (
            "SELECT kind, id::BIGINT AS id, what, place, list_index::INTEGER AS list_index, day::DATE AS day, "
            f"amount::DOUBLE AS amount FROM {rows}"
        )


CUSTOMER = "id::BIGINT AS id, name, city, balance::DECIMAL(12, 2) AS balance, changed::TIMESTAMP AS changed"
"""The columns of the table of customers, all of which are compared."""


def customers(first: int, rows: int, day: int) -> str:
    """A query for customers as they are on a day."""
    return f"""
        SELECT i AS id, 'customer ' || i AS name, 'city ' || (i + {day}) % 77 AS city,
               ((i * 37 + {day}) % 100000 / 100)::DECIMAL(12, 2) AS balance,
               timestamp '2026-01-01 12:00:00' + INTERVAL 1 DAY * {day} + INTERVAL 1 SECOND * (i % 3600) AS changed
        FROM range({first}, {first + rows}) rows(i)
    """


class Merge(IntoPostgres):
    name, title = "merge", "merge 100,000 rows into a table of 500,000"
    rows, few, nights = 500_000, 5_000, 2
    table, columns = "customers", CUSTOMER

    def make(self, data: Path, rows: int) -> None:
        write(data / "day-1", customers(0, rows, 1))
        write(data / "day-2", customers(rows - rows // 10, rows // 5, 2))

    def given(self, place: Place, night: int) -> Path:
        return place.data / f"day-{night}"

    def expected(self, place: Place) -> str:
        before, new = (f"SELECT {CUSTOMER} FROM '{place.data}/day-{day}/*.parquet'" for day in (1, 2))
        return f"{new} UNION ALL SELECT * FROM ({before}) WHERE id NOT IN (SELECT id FROM ({new}))"


class Replace(IntoDuckDB):
    name, title = "replace", "replace a table of 500,000 rows"
    rows, few, nights = 500_000, 5_000, 2
    table, columns = "customers", CUSTOMER

    def make(self, data: Path, rows: int) -> None:
        write(data / "day-1", customers(0, rows, 1))
        write(data / "day-2", customers(rows // 10, rows, 2))

    def given(self, place: Place, night: int) -> Path:
        return place.data / f"day-{night}"

    def expected(self, place: Place) -> str:
        return f"SELECT {CUSTOMER} FROM '{place.data}/day-2/*.parquet'"


class SchemaGrowth(IntoDuckDB):
    name, title = "schema-growth", "JSON with new columns into an existing table"
    rows, few, nights = 100_000, 2_000, 2
    table = "people"
    columns = "id::BIGINT AS id, name, email, address__city AS city"

    def make(self, data: Path, rows: int) -> None:
        write(data / "day-1", f"SELECT i AS id, 'person ' || i AS name FROM range({rows}) rows(i)", format="json")
        more = "i || '@example.org' AS email, {'city': 'city ' || i % 77} AS address"
        new = f"SELECT i AS id, 'person ' || i AS name, {more} FROM range({rows}, {2 * rows}) rows(i)"
        write(data / "day-2", new, format="json")

    def given(self, place: Place, night: int) -> Path:
        return place.data / f"day-{night}"

    def expected(self, place: Place) -> str:
        before, new = (f"read_json('{place.data}/day-{day}/*.json', format = 'newline_delimited')" for day in (1, 2))
        return f"""
            SELECT id::BIGINT AS id, name, NULL::VARCHAR AS email, NULL::VARCHAR AS city FROM {before}
            UNION ALL SELECT id, name, email, address.city FROM {new}
        """
