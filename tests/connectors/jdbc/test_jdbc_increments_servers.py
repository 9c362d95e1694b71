"""Increments of tables of PostgreSQL and MariaDB: times with and without zones, equal values, nulls, late rows."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connector_api.testing import plan, read
from seatunnel_core.connectors.jdbc.databases.mysql import MySQL
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.jdbc.source import JdbcSource
from seatunnel_core.errors import SourceError
from seatunnel_core.work.window import Cursor, Window
from tests.connectors.jdbc.databases import Database, empty
from tests.shared import SERVERS

DAY = datetime(2026, 1, 1)


class Shop:
    """A table with a time of the last change, and the job that reads it each night."""

    def __init__(self, database: Database, declared: str) -> None:
        self.database = database
        self.cursor: Cursor | None = None
        self.delivered: list[dict[str, Any]] = []
        more = " NULL" if database.kind == "mysql" else ""
        database.run(f"CREATE TABLE orders (id bigint PRIMARY KEY, changed {declared}{more})")

    def put(self, number: int, changed: object) -> None:
        value = "NULL" if changed is None else f"'{changed}'"
        zone = "SET time_zone = '+00:00'" if self.database.kind == "mysql" else "SET timezone = 'UTC'"
        remove, insert = f"DELETE FROM orders WHERE id = {number}", f"INSERT INTO orders VALUES ({number}, {value})"
        self.database.run(zone, remove, insert)

    def source(self, more: dict[str, Any] | None = None, **incremental: Any) -> JdbcSource:
        path = "shop.orders" if self.database.kind == "mysql" else "postgres.public.orders"
        url = self.database.options["url"] + ("?serverTimezone=UTC" if self.database.kind == "mysql" else "")
        options = {"table_path": path, "split.size": 3, "url": url, **(more or {})}
        return self.database.source(**options, incremental={"column": "changed", **incremental})

    def night(self, between: Callable[[], None] = lambda: None, more: Any = None, **incremental: Any) -> list[int]:
        """Return the ids that one job delivers; ``between`` happens when it is planned and has read nothing."""
        source = self.source(more, **incremental)
        window = Window.from_record(source.window(self.cursor).record())
        between()
        source.read_window(window)
        source.open(restored=False)
        try:
            rows = read(source, plan(source, PlanningContext(parallelism=2)))
        finally:
            source.close()
        self.cursor = window.end
        self.delivered += rows
        return sorted(row["id"] for row in rows)


def at(minutes: float) -> str:
    return str(DAY + timedelta(minutes=minutes))


TYPES = {
    "postgresql": ("timestamp", "timestamptz", "timestamp(0)"),
    "mysql": ("datetime", "datetime(6)", "timestamp(6)"),
}
EACH = [
    pytest.param((kind, declared), marks=pytest.mark.servers, id=f"{kind}-{declared}")
    for kind, all_of_it in TYPES.items()
    for declared in all_of_it
]


@pytest.fixture
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shop]:
    kind, declared = request.param
    yield Shop(empty(kind, tmp_path), declared)
    forget()


@pytest.mark.parametrize("shop", EACH, indirect=True)
def test_rows_at_the_border_and_late_ones_come_once(shop: Shop) -> None:
    for number in range(10):
        shop.put(number, at(number))
    assert shop.night(partial(shop.put, 20, at(9)), lag="5m") == list(range(10)), "20 is the next job's"
    shop.put(21, at(4.5))
    shop.put(22, at(3.5))
    assert shop.night(lag="5m") == [20, 21], "22 is later than the lag"
    assert shop.night(lag="5m") == []
    shop.put(3, at(30))
    assert shop.night(lag="5m") == [3]


@pytest.mark.parametrize("shop", EACH, indirect=True)
def test_rows_without_a_value_are_refused_or_left_out(shop: Shop) -> None:
    shop.put(1, at(0))
    shop.put(2, None)
    with pytest.raises(SourceError, match=r"1 row of .*orders, because 'changed' is null or .*nulls = SKIP"):
        shop.source().window(None)
    assert shop.night(nulls="SKIP") == [1]
    shop.put(2, at(1))
    assert shop.night() == [2]


@pytest.mark.parametrize("shop", EACH, indirect=True)
def test_it_begins_at_start_and_behind_what_was_set(shop: Shop) -> None:
    for number in range(5):
        shop.put(number, at(number))
    assert shop.night(start=at(3), lag="1h") == [3, 4]
    assert shop.night(lag="1h") == []
    shop.cursor = Cursor(value=at(2))
    assert shop.night(lag="1h") == [3, 4]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("shop", EACH, indirect=True)
def test_whatever_comes_within_the_lag_is_delivered_once(shop: Shop, seed: int) -> None:
    """Rows arrive in no order, before and while jobs read, and change; each version comes once, and none is left."""
    draw, versions, written = random.Random(seed), dict[int, str](), set[tuple[int, str]]()

    def arrive(minute: int, count: int) -> None:
        for _ in range(draw.randrange(count)):
            number, moment = draw.randrange(100), at(minute - draw.randrange(10))
            if moment > versions.get(number, ""):
                versions[number] = moment
                shop.put(number, moment)
                written.add((number, moment))

    for night in range(6):
        arrive(night * 7, 20)
        shop.night(partial(arrive, night * 7 + 2, 8), lag=draw.choice(["20m", "25m", "1h"]))
    shop.night(lag="20m")
    came = Counter((row["id"], str(row["changed"].replace(tzinfo=None))) for row in shop.delivered)
    assert not [each for each, times in came.items() if times > 1], "twice"
    assert set(versions.items()) <= set(came), "left out"
    assert set(came) <= written


@pytest.fixture
def postgres(tmp_path: Path) -> Iterator[Database]:
    yield empty("postgresql", tmp_path)
    forget()


def use_zone(database: Database, zone: str) -> None:
    database.run(f"ALTER ROLE seatunnel SET timezone TO '{zone}'")
    forget()


@pytest.mark.servers
def test_a_moment_is_the_same_in_another_zone(postgres: Database) -> None:
    """The text of a cursor has the zone of its session; the next session may have another one."""
    shop = Shop(postgres, "timestamptz")
    try:
        for zone, number in zip(("Asia/Kolkata", "America/New_York", "UTC", "Europe/Berlin"), range(4), strict=True):
            use_zone(postgres, zone)
            shop.put(10 * number, f"{at(number)}+00")
            shop.put(10 * number + 1, f"{at(number - 0.5)}+00")
            assert shop.night(lag="1m") == [10 * number, 10 * number + 1], zone
        assert shop.night(lag="1m") == []
    finally:
        postgres.run("ALTER ROLE seatunnel RESET timezone")


@pytest.mark.servers
def test_the_hour_that_comes_twice_is_two_hours(postgres: Database) -> None:
    """Clocks in Berlin were set back from 3 to 2 on 26 October 2025."""
    shop = Shop(postgres, "timestamptz")
    try:
        use_zone(postgres, "Europe/Berlin")
        shop.put(1, "2025-10-26 02:30:00+02")
        assert shop.night() == [1]
        shop.put(2, "2025-10-26 02:10:00+01")
        assert shop.night() == [2]
        shop.put(3, "2025-10-26 02:30:00+01")
        shop.put(4, "2025-10-26 02:31:00+02")
        assert shop.night() == [3], "4 is 39 minutes late"
        shop.put(5, "2025-10-26 02:00:00+01")
        assert shop.night(lag="31m") == [], "a lag of now does not reach below what the job before remembers"
        shop.put(6, "2025-10-26 02:01:00+01")
        assert shop.night(lag="31m") == [6]
    finally:
        postgres.run("ALTER ROLE seatunnel RESET timezone")


@pytest.mark.servers
@pytest.mark.parametrize("declared", ["timestamp", "timestamptz", "date"])
def test_infinity_is_no_cursor(postgres: Database, declared: str) -> None:
    """It was one, and no row came ever after."""
    shop = Shop(postgres, declared)
    shop.put(1, at(0))
    shop.put(2, "infinity")
    with pytest.raises(SourceError, match="is infinity"):
        shop.source().window(None)


@pytest.mark.servers
def test_numbers_have_all_their_digits(postgres: Database) -> None:
    shop = Shop(postgres, "numeric(38, 9)")
    shop.put(1, "12345678901234567890.123456788")
    shop.put(2, "12345678901234567890.123456789")
    assert shop.night() == [1, 2]
    shop.put(3, "12345678901234567890.123456790")
    shop.put(4, "12345678901234567890.123456789")
    assert shop.night(lag="0.000000001") == [3, 4]


@pytest.mark.parametrize("declared", ["bigint", "numeric", "decimal(20, 4)"])
@pytest.mark.parametrize("kind", SERVERS)
def test_the_largest_number_is_not_the_last_text(kind: str, declared: str, tmp_path: Path) -> None:
    """PostgreSQL gave 9 for the largest number of 9 and 10: an output column had the name of the column."""
    shop = Shop(empty(kind, tmp_path), declared)
    for number in (8, 9, 10):
        shop.put(number, number)
    assert shop.night() == [8, 9, 10]
    for number in (99, 100, 1000):
        shop.put(number, number)
    assert shop.night(lag="5") == [99, 100, 1000]
    shop.put(1, 996)
    shop.put(2, 995)
    assert shop.night(lag="5") == [1, 2]
    assert shop.night() == []
    forget()


@pytest.mark.parametrize("kind", SERVERS)
def test_dates_have_a_lag_of_days(kind: str, tmp_path: Path) -> None:
    shop = Shop(empty(kind, tmp_path), "date")
    for number in range(1, 5):
        shop.put(number, f"2026-01-0{number}")
    assert shop.night(lag="1d") == [1, 2, 3, 4]
    shop.put(5, "2026-01-03")
    shop.put(6, "2026-01-02")
    assert shop.night(lag="1d") == [5]
    forget()


@pytest.mark.servers
def test_a_timestamp_of_mysql_needs_a_zone_without_summer_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = Shop(empty("mysql", tmp_path), "timestamp")
    shop.put(1, at(0))
    url = shop.database.options["url"]
    there, here = (shop.source({"url": f"{url}?serverTimezone={zone}"}).reads() for zone in ("GMT%2B2", "UTC"))
    assert there != here, "a cursor of one zone means another moment in the other"
    monkeypatch.setattr(MySQL, "_zoned", lambda self, cursor, columns: tuple(columns))  # as with Europe/Berlin
    forget()
    with pytest.raises(SourceError, match=r"one hour occurs twice a year unless url has serverTimezone=UTC\."):
        shop.source().reads()
    forget()


def now_in(zone_hours: int) -> datetime:
    return datetime.now(UTC).replace(tzinfo=None) + timedelta(hours=zone_hours)


@pytest.mark.parametrize("shop", EACH, indirect=True)
def test_a_clock_that_is_ahead_by_a_zone_is_no_future(shop: Shop) -> None:
    shop.put(1, now_in(14).replace(microsecond=0))
    assert shop.night() == [1]
    shop.put(2, now_in(50).replace(microsecond=0))
    with pytest.raises(SourceError, match="in the future"):
        shop.night()
