"""Increments of the source ``Jdbc``: what one job after the other delivers, while rows come and go around them."""

import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.connector_api import increments
from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connector_api.testing import options_of, plan, read
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.jdbc.source import JdbcSource
from seatunnel_core.errors import SourceError
from seatunnel_core.work.window import Cursor, Window

DAY = datetime(2026, 1, 1)


class Shop:
    """A table with a time of the last change, and the job that reads it each night."""

    def __init__(self, file: Path, declared: str = "TIMESTAMP") -> None:
        self.file = file
        self.cursor: Cursor | None = None
        self.delivered: list[dict[str, Any]] = []
        self.run(f"CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT, changed {declared})")
        forget()

    def run(self, statement: str, *values: Any) -> None:
        with closing(sqlite3.connect(self.file)) as database:
            database.execute(statement, values)
            database.commit()

    def put(self, number: int, changed: Any, name: str = "one") -> None:
        self.run("INSERT OR REPLACE INTO orders VALUES (?, ?, ?)", number, name, changed)

    def source(self, **incremental: Any) -> JdbcSource:
        options = {"url": f"jdbc:sqlite:{self.file}", "table_path": "orders", "split.size": 3}
        return JdbcSource(options_of(JdbcSource, {**options, "incremental": {"column": "changed", **incremental}}))

    def night(self, between: Callable[[], None] = lambda: None, **incremental: Any) -> list[int]:
        """Return the ids that one job delivers; ``between`` happens when it is planned and has read nothing."""
        source = self.source(**incremental)
        window = source.window(self.cursor)
        between()
        window = Window.from_record(window.record())
        source.read_window(window)
        rows = read(source, plan(source, PlanningContext(parallelism=2)))
        self.cursor = window.end
        self.delivered += rows
        return sorted(row["id"] for row in rows)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    yield Shop(tmp_path / "shop.db")
    forget()


def at(minutes: float) -> str:
    return str(DAY + timedelta(minutes=minutes))


def test_each_night_has_what_came_since_the_one_before(shop: Shop) -> None:
    for number in range(10):
        shop.put(number, at(number))
    assert shop.night() == list(range(10))
    assert shop.night() == []
    shop.put(10, at(20))
    shop.put(3, at(21), "changed")
    assert shop.night() == [3, 10]


def test_an_empty_table_has_no_cursor_yet(shop: Shop) -> None:
    assert shop.night() == []
    assert shop.cursor is None
    shop.put(1, at(0))
    assert shop.night() == [1]


def test_rows_of_the_value_at_the_border_come_once_whenever_they_arrive(shop: Shop) -> None:
    shop.put(1, at(5))
    assert shop.night(lambda: shop.put(2, at(5))) == [1], "2 came after the planning, and is the next job's"
    shop.put(3, at(5))
    assert shop.night() == [2, 3]
    assert shop.night() == []


def test_late_rows_come_within_the_lag_and_none_twice(shop: Shop) -> None:
    for number in range(10):
        shop.put(number, at(number))
    assert shop.night(lambda: shop.put(20, at(8.5)), lag="5m") == list(range(10))
    shop.put(21, at(4.5))
    shop.put(22, at(3.5))
    assert shop.night(lag="5m") == [20, 21], "22 is later than the lag"
    assert shop.night(lag="5m") == []


def test_a_change_with_a_late_time_is_another_version_of_the_row(shop: Shop) -> None:
    shop.put(1, at(0))
    shop.put(2, at(9))
    assert shop.night(lag="5m") == [1, 2]
    shop.put(1, at(8), "changed late")
    assert shop.night(lag="5m") == [1]


def test_another_lag_repeats_nothing(shop: Shop) -> None:
    for number in range(10):
        shop.put(number, at(number))
    assert shop.night(lag="2m") == list(range(10))
    assert shop.night(lag="1h") == []
    shop.put(20, at(1.5))
    assert shop.night(lag="0") == [20]
    assert shop.night(lag="1h") == []


def test_rows_that_were_removed_move_the_cursor_back_and_repeat_nothing(shop: Shop) -> None:
    for number in range(5):
        shop.put(number, at(number))
    assert shop.night(lag="3m") == list(range(5))
    shop.run("DELETE FROM orders WHERE id IN (3, 4)")
    assert shop.night(lag="3m") == []
    shop.put(7, at(3.5))
    assert shop.night(lag="3m") == [7]


def test_it_begins_at_start_and_earlier_rows_never_come(shop: Shop) -> None:
    for number in range(5):
        shop.put(number, at(number))
    assert shop.night(start=at(3), lag="1h") == [3, 4]
    assert shop.night(start=at(0), lag="1h") == []


def test_a_cursor_that_was_set_leaves_out_its_own_value(shop: Shop) -> None:
    for number in range(5):
        shop.put(number, at(number))
    shop.cursor = Cursor(value=at(2))
    assert shop.night(lag="1h") == [3, 4]
    assert shop.night(lag="1h") == []


@pytest.mark.parametrize("declared", ["INTEGER", "DECIMAL(10, 2)"])
def test_numbers_have_a_lag_that_is_one(tmp_path: Path, declared: str) -> None:
    shop = Shop(tmp_path / "numbers.db", declared)
    for number in range(1, 10):
        shop.put(number, number * 10)
    assert shop.night(lag="25") == list(range(1, 10))
    shop.put(20, 66)
    shop.put(21, 64)
    assert shop.night(lag=25) == [20]
    with pytest.raises(SourceError, match="lag must be a number, not '5m'"):
        shop.source(lag="5m").window(shop.cursor)


def test_rows_without_a_value_are_refused_or_left_out(shop: Shop) -> None:
    shop.put(1, at(0))
    shop.put(2, None)
    shop.put(3, 17)
    with pytest.raises(SourceError, match=r"2 rows of orders, because 'changed' is null or .*nulls = SKIP"):
        shop.source().window(None)
    assert shop.night(nulls="SKIP") == [1]


def test_a_value_in_the_future_is_no_cursor(shop: Shop) -> None:
    shop.put(1, at(0))
    shop.put(2, "9999-12-31 00:00:00")
    with pytest.raises(SourceError, match=r"orders.changed is 9999-12-31 00:00:00, which is in the future"):
        shop.source().window(None)


def test_more_rows_at_the_border_than_the_state_can_have_are_refused(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(increments, "MOST_DIGESTS", 3)
    monkeypatch.setattr("seatunnel_core.connectors.jdbc.increments.MOST_DIGESTS", 3)
    for number in range(3):
        shop.put(number, at(0))
    assert shop.night() == [0, 1, 2]
    shop.put(4, at(0))
    with pytest.raises(SourceError, match=r"the limit of 3 in the state, which stores .*smaller lag"):
        shop.source().window(shop.cursor)


@pytest.mark.parametrize(
    ("declared", "incremental", "said"),
    [
        ("TIMESTAMP", {"column": "chanegd"}, "no column 'chanegd'; did you mean changed"),
        ("REAL", {}, "'changed' of orders has the type REAL; such values cannot be compared exactly"),
        ("TIMESTAMP", {"key": ["nr"]}, "no column 'nr'"),
        ("TIMESTAMP", {"start": "yesterday"}, "start: 'yesterday' is not a value of changed"),
    ],
)
def test_what_cannot_be_read_in_increments_is_refused(
    tmp_path: Path, declared: str, incremental: dict[str, Any], said: str
) -> None:
    shop = Shop(tmp_path / "shop.db", declared)
    with pytest.raises(SourceError, match=said):
        shop.source(**incremental).reads()


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ({"lag": "5m"}, "requires the key column"),
        ({"column": "a", "lga": "5m"}, "has the unknown key 'lga'"),
        ({"column": "a", "nulls": "x"}, "FAIL, SKIP"),
    ],
)
def test_a_wrong_block_is_refused(block: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        options_of(JdbcSource, {"url": "jdbc:sqlite:x", "table_path": "orders", "incremental": block})


def test_a_table_without_a_key_needs_one(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop.db")
    shop.run("CREATE TABLE keyless AS SELECT * FROM orders")
    options = {"url": f"jdbc:sqlite:{shop.file}", "table_path": "keyless", "incremental": {"column": "changed"}}
    with pytest.raises(SourceError, match=r"no primary key.*key = \[id\]"):
        JdbcSource(options_of(JdbcSource, options)).reads()


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(each, marks=pytest.mark.torture) for each in range(2, 24))])
def test_whatever_comes_within_the_lag_is_delivered_once(tmp_path: Path, seed: int) -> None:
    """Rows arrive in no order, before and while jobs read, and change; each version comes once, and none is left."""
    draw, shop, versions = random.Random(seed), Shop(tmp_path / "shop.db"), dict[int, str]()
    written = set[tuple[int, str]]()

    def arrive(minute: int, count: int) -> None:
        for _ in range(draw.randrange(count)):
            number = draw.randrange(200)
            if number in versions and draw.random() < 0.5:
                continue
            moment = at(minute - draw.randrange(10))
            if moment <= versions.get(number, ""):
                continue
            versions[number] = moment
            shop.put(number, moment)
            written.add((number, moment))

    for night in range(12):
        arrive(night * 7, 40)
        shop.night(partial(arrive, night * 7 + 2, 15), lag=draw.choice(["20m", "25m", "1h"]))
    shop.night(lag="20m")
    came = Counter((row["id"], str(row["changed"])) for row in shop.delivered)
    assert not [each for each, times in came.items() if times > 1], "twice"
    assert set(versions.items()) <= set(came), "left out"
    assert set(came) <= written
