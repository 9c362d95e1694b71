"""A service with increments, merged into tables that grow, with child tables: one job of at most 25 lines.

Tasks run in this process, but for the jobs whose processes are killed.
"""

import copy
import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import duckdb
import pytest
from attrs import frozen

from seatunnel_core.job.restoring import Restore
from seatunnel_core.reporting.report import JobOutcome
from tests.connectors.jdbc.databases import empty
from tests.runtime.command import Command
from tests.runtime.ground import Ground, kill, run_through, until
from tests.servers.http_service import Asked, HttpService, http_service
from tests.torture.process import Engine

pytestmark = pytest.mark.timeout(300)
PAGE, NIGHTS = 5, 4
MOST_LINES = 25
PATIENCE_S = 180.0


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


MERGED = 'table = "${table_name}", write_mode = merge, schema_contract = evolve'
Ask = Callable[[str], list[Any]]


@frozen(kw_only=True)
class Shelf:
    """A database for the tables of the job, and for those of dlt."""

    sink: str
    """Text of the job's sink."""

    schema: str
    """Into which the job writes; dlt writes into ``shop``."""

    asking: Callable[[str], AbstractContextManager[Ask]]
    """Opens a schema for statements: a query of the catalog of columns or of the tables."""

    destination: Callable[[], Any]
    """The same place for dlt."""

    def ours(self) -> list[Any]:
        with self.asking(self.schema) as ask:
            return rows_of(ask, OURS)

    def of_dlt(self) -> list[Any]:
        with self.asking("shop") as ask:
            return rows_of(ask, DLT)


def in_duckdb(work: Path) -> Shelf:
    ours, theirs = work / "shop.duckdb", work / "dlt.duckdb"

    @contextmanager
    def asking(schema: str) -> Iterator[Ask]:
        with duckdb.connect(str(theirs if schema == "shop" else ours)) as connection:
            connection.execute(f"USE {schema}")
            yield lambda statement: connection.execute(statement).fetchall()

    def destination() -> Any:
        import dlt

        return dlt.destinations.duckdb(str(theirs))

    return Shelf(sink=f'DuckDB {{ path = "{ours}", {MERGED} }}', schema="main", asking=asking, destination=destination)


def in_postgresql(work: Path) -> Shelf:
    database = empty("postgresql", work)
    database.run("DROP SCHEMA IF EXISTS shop CASCADE")
    options = database.options

    @contextmanager
    def asking(schema: str) -> Iterator[Ask]:
        yield lambda statement: list(database.run(f"SET search_path TO {schema}", statement))

    def destination() -> Any:
        import dlt

        user, password = (quote(options[key], safe="") for key in ("user", "password"))
        return dlt.destinations.postgres(options["url"].replace("jdbc:", "").replace("//", f"//{user}:{password}@"))

    written = ", ".join(f'{key} = "{value}"' for key, value in options.items())
    return Shelf(sink=f"Jdbc {{ {written}, {MERGED} }}", schema="public", asking=asking, destination=destination)


@pytest.fixture(params=["duckdb", pytest.param("postgresql", marks=pytest.mark.servers)])
def shelf(request: pytest.FixtureRequest, ground: Ground) -> Shelf:
    return {"duckdb": in_duckdb, "postgresql": in_postgresql}[request.param](ground.work)


OURS, DLT = ("_row_id", "_parent_id", "_list_index"), ("_dlt_id", "_dlt_parent_id", "_dlt_list_idx")
COLUMNS = (
    "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = CURRENT_SCHEMA()"
)


def rows_of(ask: Ask, own: tuple[str, str, str]) -> list[Any]:
    """Return the rows of the tables in the form of ``Shop.expected``; children without a parent at the end."""
    row, parent, index = own
    columns = {(table, column) for table, column, _ in ask(COLUMNS)}
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


def tables_of(shelf: Shelf, schema: str) -> set[tuple[str, str, str]]:
    """The columns of all tables and their types, without those of the loader."""
    with shelf.asking(schema) as ask:
        found = ask(COLUMNS)
    return {
        # Both are texts of any length in PostgreSQL, and compare alike.
        (table, column, "text" if kind == "character varying" else kind)
        for table, column, kind in found
        if not table.startswith(("_dlt", "seatunnel_")) and not column.startswith("_dlt") and column not in OURS
    }


def has_read(service: HttpService, planned: int) -> bool:
    """True once more pages were requested than for the planning of the job."""
    return len(service.asked) > planned


@pytest.mark.parametrize(
    "seed",
    [
        1,
        *(pytest.param(each, marks=pytest.mark.torture) for each in range(2, 5)),
        *(pytest.param(each, marks=[pytest.mark.torture, pytest.mark.long]) for each in range(5, 9)),
    ],
)
def test_each_night_leaves_what_the_service_has(ground: Ground, service: HttpService, shelf: Shelf, seed: int) -> None:
    shop = Shop(service, seed)
    for night in range(NIGHTS):
        shop.day(night)
        restore = None
        if night == 2:
            slow = text(service, shelf.sink, limit=", read_limit.rows_per_second = 9")
            with ground.run(slow, f"night-{night}") as first:
                first.start()
                until(partial(has_read, service, len(service.asked)), first)
                kill(first)
            assert shelf.ours() != shop.expected()
            restore = Restore()
        report, _ = run_through(ground.run(text(service, shelf.sink), f"night-{night}", restore=restore))
        assert report.outcome is JobOutcome.FINISHED, report
        assert shelf.ours() == shop.expected(), night


def killed(engine: Engine, service: HttpService, requests: int, pause_s: float) -> bool:
    """Kill all processes of a job some time after a number of requests; return False if it ended before."""
    wanted, deadline = len(service.asked) + requests, time.monotonic() + PATIENCE_S
    while len(service.asked) < wanted and engine.exit_code is None:
        assert time.monotonic() < deadline, engine.output[-4000:]
        time.sleep(0.01)
    until_s = time.monotonic() + pause_s
    while time.monotonic() < until_s and engine.exit_code is None:
        time.sleep(0.01)
    if engine.exit_code is not None:
        return False
    engine.end()
    return True


@pytest.mark.spark
@pytest.mark.torture
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "shelf",
    ["duckdb", pytest.param("postgresql", marks=[pytest.mark.servers, pytest.mark.twin])],
    indirect=True,
)
def test_processes_that_are_killed_lose_and_double_no_row(tmp_path: Path, service: HttpService, shelf: Shelf) -> None:
    """The same command is run each night until it ends with 0; before, all its processes are killed twice."""
    rng, shop, kills = random.Random(11), Shop(service, 11), 0
    for night in range(NIGHTS):
        shop.day(night)
        planned = len(shop.orders) // PAGE
        command = Command.of(tmp_path / "job", text(service, shelf.sink, limit=", read_limit.rows_per_second = 9"))
        for requests in (1, planned + rng.randrange(3), None):
            engine = command.start()
            if requests is not None and killed(engine, service, requests, rng.uniform(0, 4)):
                kills += 1
                continue
            assert engine.wait(PATIENCE_S) == 0, engine.output[-4000:]
            engine.end()
            break
        assert shelf.ours() == shop.expected(), night
    assert kills >= NIGHTS, "most jobs ended before they were killed"


@pytest.mark.torture
@pytest.mark.xdist_group("dlt")
def test_the_tables_are_those_of_dlt(
    ground: Ground, service: HttpService, shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Apart from the columns and tables that dlt has for itself."""
    import dlt

    monkeypatch.setenv("RUNTIME__DLTHUB_TELEMETRY", "false")
    shop = Shop(service, 7)

    @dlt.resource(name="orders", primary_key="id", write_disposition="merge")
    def orders() -> Iterator[Any]:
        yield copy.deepcopy(list(shop.orders.values()))

    for night in range(NIGHTS):
        shop.day(night)
        report, _ = run_through(ground.run(text(service, shelf.sink), f"night-{night}"))
        assert report.outcome is JobOutcome.FINISHED, report
        destination = shelf.destination()
        pipeline = dlt.pipeline("orders", destination=destination, dataset_name="shop", pipelines_dir=str(tmp_path))
        pipeline.run(orders())
        assert tables_of(shelf, shelf.schema) == tables_of(shelf, "shop"), night
        assert shelf.ours() == shelf.of_dlt() == shop.expected(), night
