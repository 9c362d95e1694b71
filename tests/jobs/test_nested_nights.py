"""A service with increments, merged into tables that grow, with child tables: one job of at most 25 lines.

Tasks run in this process.
"""

import copy
import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pytest

from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.job.restoring import Restore
from seatunnel_core.reporting.report import JobOutcome
from tests.runtime.ground import Ground, ground_in, kill, run_through, until
from tests.servers.http_service import Asked, HttpService, http_service

pytestmark = pytest.mark.timeout(300)
PAGE, NIGHTS = 5, 4
MOST_LINES = 25


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    with ground_in(tmp_path) as found:
        found.work.mkdir()
        yield found
    forget()


@pytest.fixture(scope="module")
def service() -> Iterator[HttpService]:
    with http_service() as found:
        yield found


class Shop:
    """A service whose orders come and change, and whose fields grow."""

    def __init__(self, service: HttpService, seed: int) -> None:
        self.draw, self.orders, self.moment = random.Random(seed), dict[int, dict[str, Any]](), 0
        service.at["/orders"] = self.answer

    def answer(self, asked: Asked) -> dict[str, Any]:
        since = asked.query.get("since", "")
        rows = sorted((row for row in self.orders.values() if row["at"] >= since), key=lambda row: row["at"])
        first = int(asked.query.get("from", 0))
        following = f"?from={first + PAGE}&since={since}" if first + PAGE < len(rows) else None
        return {"data": rows[first : first + PAGE], "next": following}

    def day(self, night: int) -> None:
        """Let some orders come and others change: their lists grow, shrink, become empty or null, or are absent."""
        known = sorted(self.orders)
        changed = self.draw.sample(known, len(known) // 3)
        for number in [*changed, *range(100 * night, 100 * night + 12)]:
            self.moment += 1
            order: dict[str, Any] = {
                "id": number,
                "at": f"2026-01-0{night + 1}T00:00:{self.moment % 60:02}.{self.moment:06}Z",
            }
            order["to"] = {"city": "Oslo", **({"zip": "0150"} if night else {})}
            order["never"] = None
            order["note"] = "new" if night > 1 else None
            lines = [self.line(night) for _ in range(self.draw.randrange(4))]
            if (made := self.draw.choice([lines, lines, lines, [], None, "absent"])) != "absent":
                order["lines"] = made
            self.orders[number] = order

    def line(self, night: int) -> dict[str, Any]:
        line: dict[str, Any] = {
            "sku": f"s{self.draw.randrange(99)}",
            "tags": [f"t{n}" for n in range(self.draw.randrange(3))],
        }
        return {**line, **({"gift": {"to": "me"}} if night > 1 else {})}

    def expected(self) -> list[Any]:
        return [
            (
                number,
                order["to"]["city"],
                order["to"].get("zip"),
                order["note"],
                [(line["sku"], (line.get("gift") or {}).get("to"), line["tags"]) for line in order.get("lines") or []],
            )
            for number, order in sorted(self.orders.items())
        ]


def text(service: HttpService, sink: str, *, limit: str = "") -> str:
    job = f"""env {{ job.name = orders, job.mode = BATCH, checkpoint.interval = 40, job.retry.times = 0{limit} }}
source {{
  Http {{
    url = "{service.url}/orders"
    content_field = "$.data[*]"
    schema_sample = 1000
    schema {{ table = orders, primaryKey {{ name = pk, columnNames = [id] }} }}
    nesting = tables
    pageing {{ page_type = Cursor, cursor_response_field = "$.next" }}
    incremental {{ column = at, param = since }}
  }}
}}
sink {{
  {sink}
}}
"""
    assert len(job.splitlines()) <= MOST_LINES
    return job


def duckdb_sink(ground: Ground) -> str:
    more = "write_mode = merge, schema_contract = evolve"
    return f'DuckDB {{ path = "{ground.work}/shop.duckdb", table = "${{table_name}}", {more} }}'


def loaded(ground: Ground) -> list[Any]:
    return rows_of(ground.work / "shop.duckdb", OURS)


def rows_of(file: Path, own: tuple[str, str, str, str]) -> list[Any]:
    """What the tables have, in the form of ``Shop.expected``; children without a parent at the end."""
    schema, row, parent, index = own
    with duckdb.connect(str(file)) as connection:
        connection.execute(f"USE {schema}")

        def ask(statement: str) -> list[Any]:
            return connection.execute(statement).fetchall()

        columns = {(table, column) for table, column in ask("SELECT table_name, column_name FROM duckdb_columns()")}
        named = {name: name if ("orders", name) in columns else f"NULL AS {name}" for name in ("to__zip", "note")}
        orders = ask(f"SELECT id, to__city, {named['to__zip']}, {named['note']}, {row} FROM orders ORDER BY id")
        gift = "gift__to" if ("orders__lines", "gift__to") in columns else "NULL"
        lines = ask(f"SELECT {parent}, sku, {gift}, {row} FROM orders__lines ORDER BY {parent}, {index}")
        tags = ask(f"SELECT {parent}, value FROM orders__lines__tags ORDER BY {parent}, {index}")
        assert ("orders", "never") not in columns, "a column that never had a value"
    of_line: dict[Any, list[str]] = {}
    for line, tag in tags:
        of_line.setdefault(line, []).append(tag)
    of_order: dict[Any, list[Any]] = {}
    for order, sku, to, line in lines:
        of_order.setdefault(order, []).append((sku, to, of_line.pop(line, [])))
    found = [(*values, of_order.pop(order, [])) for *values, order in orders]
    return [*found, *of_order.items(), *of_line.items()]


def has_read(service: HttpService, planned: int) -> bool:
    """True once more pages were requested than for the planning of the job."""
    return len(service.asked) > planned


@pytest.mark.parametrize("seed", [1, *(pytest.param(each, marks=pytest.mark.torture) for each in range(2, 9))])
def test_each_night_leaves_what_the_service_has(ground: Ground, service: HttpService, seed: int) -> None:
    shop, sink = Shop(service, seed), duckdb_sink(ground)
    for night in range(NIGHTS):
        shop.day(night)
        restore = None
        if night == 2:
            with ground.run(text(service, sink, limit=", read_limit.rows_per_second = 9"), f"night-{night}") as first:
                first.start()
                until(partial(has_read, service, len(service.asked)), first)
                kill(first)
            assert loaded(ground) != shop.expected()
            restore = Restore()
        report, _ = run_through(ground.run(text(service, sink), f"night-{night}", restore=restore))
        assert report.outcome is JobOutcome.FINISHED, report
        assert loaded(ground) == shop.expected(), night


@pytest.mark.torture
@pytest.mark.xdist_group("dlt")
def test_the_tables_are_those_of_dlt(
    ground: Ground, service: HttpService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Apart from the columns and tables that dlt has for itself."""
    import dlt

    monkeypatch.setenv("RUNTIME__DLTHUB_TELEMETRY", "false")
    file, shop = tmp_path / "dlt.duckdb", Shop(service, 7)

    @dlt.resource(name="orders", primary_key="id", write_disposition="merge")
    def orders() -> Iterator[Any]:
        yield copy.deepcopy(list(shop.orders.values()))

    for night in range(NIGHTS):
        shop.day(night)
        report, _ = run_through(ground.run(text(service, duckdb_sink(ground)), f"night-{night}"))
        assert report.outcome is JobOutcome.FINISHED, report
        destination = dlt.destinations.duckdb(str(file))
        pipeline = dlt.pipeline("orders", destination=destination, dataset_name="shop", pipelines_dir=str(tmp_path))
        pipeline.run(orders())
        assert tables_of(ground.work / "shop.duckdb") == tables_of(file), night
        assert rows_of(ground.work / "shop.duckdb", OURS) == rows_of(file, DLT) == shop.expected(), night


OURS, DLT = ("main", "_row_id", "_parent_id", "_list_index"), ("shop", "_dlt_id", "_dlt_parent_id", "_dlt_list_idx")


def tables_of(file: Path) -> set[tuple[str, str, str]]:
    """The columns of all tables and their types, without those of the loader."""
    asked = "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE schema_name IN ('main', 'shop')"
    with duckdb.connect(str(file)) as connection:
        found = connection.execute(asked).fetchall()
    own = ("_row_id", "_parent_id", "_list_index")
    return {
        each
        for each in found
        if not each[0].startswith("_dlt") and not each[1].startswith("_dlt") and each[1] not in own
    }
