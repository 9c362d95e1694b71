"""Increments of a folder: which files one job after the other reads."""

import itertools
import os
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connector_api.testing import plan, read
from seatunnel_core.errors import SourceError, UsageError
from seatunnel_core.work.window import Cursor, Window
from tests.connectors.file import local_files

BEGIN_S = 1_767_225_600  # 2026-01-01
FIELDS = {"fields": {"id": "int"}}


class Folder:
    """A folder, and the job that reads it each night."""

    def __init__(self, path: Path, column: str = "modified") -> None:
        self.path = path
        self.column = column
        self.cursor: Cursor | None = None

    def put(self, number: int, minute: float, name: str = "") -> None:
        file = self.path / (name or f"{number}.csv")
        file.write_text(f"{number}\n")
        os.utime(file, (BEGIN_S + minute * 60,) * 2)

    def night(self, between: Callable[[], None] = lambda: None, **incremental: Any) -> list[int]:
        source = local_files.source(
            self.path,
            file_format_type="csv",
            schema=FIELDS,
            incremental={"column": self.column, **incremental},
        )
        window = Window.from_record(source.window(self.cursor).record())
        between()
        source.read_window(window)
        rows = read(source, plan(source, PlanningContext(parallelism=2)))
        self.cursor = window.end
        return sorted(row["id"] for row in rows)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_each_night_has_the_files_that_came_since(folder: Folder) -> None:
    for number in range(5):
        folder.put(number, number)
    assert folder.night() == list(range(5))
    assert folder.night() == []
    folder.put(5, 9)
    assert folder.night() == [5]
    assert folder.cursor is not None
    assert folder.cursor.value == "2026-01-01 00:09:00.000000000Z"


def test_an_empty_folder_has_no_cursor_yet(folder: Folder) -> None:
    assert folder.night() == []
    assert folder.cursor is None
    folder.put(1, 0)
    assert folder.night() == [1]


def test_files_of_the_same_moment_and_late_ones_come_once(folder: Folder) -> None:
    for number in range(10):
        folder.put(number, number)
    assert folder.night(lambda: folder.put(20, 9), lag="5m") == list(range(10)), "20 is the next job's"
    folder.put(21, 4.5)
    folder.put(22, 3.5)
    assert folder.night(lag="5m") == [20, 21], "22 is later than the lag"
    assert folder.night(lag="1h") == []


def test_a_night_with_late_files_alone_repeats_none(folder: Folder) -> None:
    """The cursor went back to the time of the late file, and the next job read again what lies behind that."""
    for number in range(10):
        folder.put(number, number)
    assert folder.night(lag="5m") == list(range(10))
    folder.put(20, 5)
    assert folder.night(lag="5m") == [20]
    assert folder.night(lag="5m") == []


@pytest.mark.parametrize("seed", range(3))
def test_whatever_comes_within_the_lag_is_read_once(tmp_path: Path, seed: int) -> None:
    """Files arrive in no order, before and while jobs read; each comes once, and none is left."""
    draw, folder, came = random.Random(seed), Folder(tmp_path), list[int]()
    numbers = iter(range(10**6))

    def arrive(minute: int, count: int) -> None:
        for number in itertools.islice(numbers, draw.randrange(count)):
            folder.put(number, minute - draw.randrange(10))

    for night in range(12):
        arrive(night * 7, draw.choice([2, 8]))
        came += folder.night(partial(arrive, night * 7 + 2, 4), lag=draw.choice(["20m", "25m", "1h"]))
    came += folder.night(lag="20m")
    assert sorted(came) == list(range(next(numbers)))


def test_a_file_that_changes_is_another_one(folder: Folder) -> None:
    folder.put(1, 0)
    assert folder.night() == [1]
    folder.put(1, 5)
    assert folder.night() == [1]


def test_names_come_once_in_their_order(tmp_path: Path) -> None:
    folder = Folder(tmp_path, "name")
    folder.put(1, 9, "2026-01-01.csv")
    folder.put(2, 0, "2026-01-02.csv")
    assert folder.night() == [1, 2]
    folder.put(3, 20, "2026-01-02.csv")
    folder.put(4, 0, "2026-01-03.csv")
    folder.put(5, 0, "2026-01-01-late.csv")
    assert folder.night() == [4], "a name that sorts before is never read, a known one not again"


def test_it_begins_at_start_and_behind_what_was_set(folder: Folder) -> None:
    for number in range(5):
        folder.put(number, number)
    assert folder.night(start="2026-01-01 00:03:00", lag="1h") == [3, 4]
    assert folder.night(lag="1h") == []
    folder.cursor = Cursor(value="2026-01-01T00:01:00Z")
    assert folder.night(lag="1h") == [2, 3, 4]


def test_a_time_in_the_future_is_no_cursor(folder: Folder) -> None:
    folder.put(1, 10**8)
    with pytest.raises(SourceError, match="in the future"):
        folder.night()


@pytest.mark.parametrize(
    ("incremental", "more", "said"),
    [
        ({"column": "changed"}, {}, "set column to modified"),
        ({"column": "name", "lag": "5m"}, {}, "lag is not supported for file names"),
        ({"column": "modified", "key": ["id"]}, {}, "key and nulls apply only to tables"),
        ({"column": "modified"}, {"discovery_mode": "continuous"}, "a watched folder already records"),
    ],
)
def test_what_does_not_go_together_is_refused(
    tmp_path: Path, incremental: dict[str, Any], more: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        local_files.source(tmp_path, file_format_type="csv", schema=FIELDS, incremental=incremental, **more)


def test_a_start_that_is_no_time_is_refused(tmp_path: Path) -> None:
    incremental = {"column": "modified", "start": "yesterday"}
    with pytest.raises(SourceError, match="'yesterday' is not a valid time"):
        local_files.source(tmp_path, file_format_type="csv", schema=FIELDS, incremental=incremental)
