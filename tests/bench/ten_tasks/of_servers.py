"""The tasks that read a database or a service."""

import time
from pathlib import Path

import duckdb

from tests.bench import tables
from tests.bench.ten_tasks.of_files import LINEITEM, expected_lineitem, lineitem
from tests.bench.ten_tasks.place import DLT, Place, Servers
from tests.bench.ten_tasks.task import PROGRAMS, IntoDuckDB, Task
from tests.servers.http_service import Asked, Said


class ApiToParquet(Task):
    name, title = "api-to-parquet", "a service with 200 pages to Parquet"
    rows, few = 100_000, 20_000
    pages = 200
    answers_after_s = 0.05

    def make(self, data: Path, rows: int) -> None:
        query = f"""
            SELECT i AS id, 'person ' || i AS name, i || '@example.org' AS email, 'city ' || i % 77 AS city,
                   18 + i % 80 AS age, (i % 1000) / 4 AS balance,
                   strftime(timestamp '2026-01-01' + INTERVAL 1 MINUTE * i, '%Y-%m-%dT%H:%M:%SZ') AS joined
            FROM range({rows}) rows(i)
        """
        with duckdb.connect() as connection:
            connection.execute(f"COPY ({query}) TO '{data}/people.json' (FORMAT json)")

    def share(self, servers: Servers, data: Path, rows: int) -> None:
        lines = (data / "people.json").read_text("utf-8").splitlines()
        each = rows // self.pages
        bodies = [
            f'{{"page": {number + 1}, "data": [{",".join(lines[number * each : (number + 1) * each])}]}}'
            for number in range(self.pages)
        ]

        def answer(asked: Asked) -> Said:
            time.sleep(self.answers_after_s)
            body = bodies[int(asked.query.get("page", 1)) - 1]
            return Said(body=body, headers={"Content-Type": "application/json"})

        servers.service.at["/people"] = answer

    def expected(self, place: Place) -> str:
        columns = "id::BIGINT AS id, name, email, city, age::BIGINT AS age, balance::DOUBLE AS balance"
        types = "{id: 'BIGINT', name: 'VARCHAR', email: 'VARCHAR', city: 'VARCHAR', age: 'BIGINT', balance: 'DOUBLE', "
        rows = f"read_json('{place.data}/people.json', columns = {types} joined: 'TIMESTAMPTZ'}})"
        return f"SELECT {columns}, joined::TIMESTAMPTZ AS joined FROM {rows}"

    def found(self, place: Place) -> str:
        rows = place.parquet("people")
        columns = "id::BIGINT AS id, name, email, city, age::BIGINT AS age, balance::DOUBLE AS balance"
        return f"SELECT {columns}, joined::TIMESTAMPTZ AS joined FROM {rows}" if rows else ""


class PostgresToParquet(Task):
    name, title = "postgres-to-parquet", "3 million PostgreSQL rows to Parquet"
    rows, few = 3_000_000, 60_000
    needs_postgres, source = True, "lineitem"

    def make(self, data: Path, rows: int) -> None:
        lineitem(data, rows)

    def share(self, servers: Servers, data: Path, rows: int) -> None:
        names = {"string": "text", "int": "integer", "decimal(15,2)": "numeric(15,2)"}
        columns = ", ".join(f"{name} {names.get(kind, kind)}" for name, kind in tables.LINEITEM.items())
        servers.create("lineitem")
        servers.execute("lineitem", f"CREATE TABLE lineitem ({columns})")
        servers.fill("lineitem", "COPY lineitem FROM STDIN (FORMAT csv, HEADER)", sorted(data.glob("*.csv")))
        servers.execute("lineitem", "CREATE INDEX ON lineitem (l_orderkey)")
        servers.execute("lineitem", "VACUUM ANALYZE lineitem")

    def expected(self, place: Place) -> str:
        return expected_lineitem(place.data)

    def found(self, place: Place) -> str:
        rows = place.parquet("lineitem")
        return f"SELECT {LINEITEM} FROM {rows}" if rows else ""


_EVENTS = """
    INSERT INTO events
    SELECT i, timestamptz '2026-01-01 00:00:00Z' + interval '1 second' * i, 'kind ' || i % 9, (i % 10000) / 100.0
    FROM generate_series({first}, {last}) rows(i)
"""


class NightlyIncrement(IntoDuckDB):
    name, title = "nightly-increment", "the 50,000 new rows of a table with 1,000,000"
    rows, few, nights = 1_000_000, 10_000, 2
    needs_postgres = True
    table = "events"
    columns = "id::BIGINT AS id, created::TIMESTAMPTZ AS created, kind, amount::DECIMAL(12, 2) AS amount"

    def share(self, servers: Servers, data: Path, rows: int) -> None:
        """The table of the first night, which each run gets a copy of."""
        servers.create("events")
        columns = "id bigint PRIMARY KEY, created timestamptz, kind text, amount numeric(12, 2)"
        servers.execute("events", f"CREATE TABLE events ({columns})")
        servers.execute("events", _EVENTS.format(first=1, last=rows))
        servers.execute("events", "CREATE INDEX ON events (created)")
        servers.execute("events", "VACUUM ANALYZE events")

    def begin(self, place: Place) -> None:
        place.servers.create(place.database, template="events")

    def change(self, place: Place) -> None:
        place.servers.execute(place.database, _EVENTS.format(first=place.rows + 1, last=place.rows + place.rows // 20))

    def end(self, place: Place) -> None:
        place.servers.drop(place.database)

    def expected(self, place: Place) -> str:
        return f"SELECT {self.columns} FROM {place.copied('SELECT * FROM events')}"


class SmallTables(Task):
    name, title = "small-tables", "100 small PostgreSQL tables to DuckDB"
    rows, few = 1_000, 20
    tables = 100
    needs_postgres, source = True, "small"

    def program(self, system: str) -> Path:
        """A loop makes the job, in Python."""
        return super().program(system) if system == DLT else PROGRAMS / "small_tables_job.py"

    def share(self, servers: Servers, data: Path, rows: int) -> None:
        servers.create("small")
        columns = "id bigint PRIMARY KEY, name text, amount numeric(12, 2)"
        rest = f"SELECT i, 'row ' || i, i / 4.0 FROM generate_series(1, {rows}) rows(i)"
        for number in range(self.tables):
            servers.execute("small", f"CREATE TABLE t{number} ({columns}); INSERT INTO t{number} {rest}")
        servers.execute("small", "VACUUM ANALYZE")

    def expected(self, place: Place) -> str:
        each = (f"SELECT {number} AS number, id, name, amount FROM t{number}" for number in range(self.tables))
        rows = place.copied(" UNION ALL ".join(each))
        return f"SELECT number::INTEGER AS number, id::BIGINT AS id, name, amount::DECIMAL(12, 2) AS amount FROM {rows}"

    def found(self, place: Place) -> str:
        if not place.output.exists():
            return ""
        columns = "id::BIGINT AS id, name, amount::DECIMAL(12, 2) AS amount"
        return " UNION ALL ".join(
            f"SELECT {number} AS number, {columns} FROM {place.in_duckdb(f't{number}')}"
            for number in range(self.tables)
        )
