"""A watcher of a target: from the end of the snapshot on, the amounts of both tables add up to zero at each moment."""

import threading
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

from attrs import define, field

from tests.cdc.captured import Captured
from tests.cdc.storm import TABLES, Storm, wait_until

_FIRST_BEACON = 900_000_000


@define(kw_only=True)
class Watcher:
    """Reads the target all the time, each time one state of both tables."""

    storm: Storm
    target: str
    every_s: float = 0.02
    looks: int = 0
    states: set[tuple[Any, ...]] = field(factory=set)
    """Different states that were seen, by counts and sums."""

    broken: list[str] = field(factory=list)
    watching: threading.Event = field(init=False, factory=threading.Event)
    """Set from the end of the snapshot on."""

    error: BaseException | None = field(init=False, default=None)
    _over: threading.Event = field(init=False, factory=threading.Event)
    _thread: threading.Thread | None = field(init=False, default=None)

    def begin(self) -> None:
        """Start to watch as soon as the target has a state of the source."""
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def end(self) -> None:
        """Stop; raise what went wrong with watching itself."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        if self.error is not None:
            raise self.error

    def _run(self) -> None:
        try:
            self._wait_for(lambda: snapshot_arrived(self.storm, self.target))
            for number in (_FIRST_BEACON, _FIRST_BEACON + 1):  # two ranges of the log after the last chunk
                self._wait_for(lambda number=number: self.storm.light_beacon(number))  # type: ignore[misc]
                self._wait_for(lambda number=number: beacon_arrived(self.storm, self.target, number))  # type: ignore[misc]
            if not self._over.is_set():
                self.watching.set()
                self._watch()
        except BaseException as error:
            self.error = error

    def _wait_for(self, condition: Callable[[], bool]) -> None:
        while not self._over.is_set() and not self._is_met(condition):
            self._over.wait(0.1)

    def _is_met(self, condition: Callable[[], bool]) -> bool:
        try:
            return condition()
        except Exception as error:
            if not self._survives(error):
                raise
            return False

    def _survives(self, error: Exception) -> bool:
        return self.storm.survives_restarts and self.storm.captured.is_lost(error)

    def _watch(self) -> None:
        while not self._over.is_set():
            try:
                self._watch_connected()
            except Exception as error:
                if not self._survives(error):
                    raise
                self._over.wait(0.5)

    def _watch_connected(self) -> None:
        captured: Captured = self.storm.captured
        asked = [f"SELECT count(*), coalesce(sum(amount), 0) FROM {table}" for table in TABLES]
        with closing(captured.connect(self.target)) as connection:
            while not self._over.is_set():
                (credit,), (debit,) = captured.read_snapshot(connection, asked)
                self.looks += 1
                self.states.add((*credit, *debit))
                if int(credit[1]) + int(debit[1]):
                    self.broken.append(f"{time.strftime('%H:%M:%S')}: {TABLES[0]} {credit}, {TABLES[1]} {debit}")
                self._over.wait(self.every_s)


def beacon_arrived(storm: Storm, target: str, number: int) -> bool:
    """Return True if the target has a beacon, and with it all that was committed before."""
    with closing(storm.captured.connect(target)) as connection:
        if not storm.captured.columns(connection, "beacon"):
            return False
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM beacon WHERE id = {number}")
            return bool(cursor.fetchone()[0])


def snapshot_arrived(storm: Storm, target: str) -> bool:
    """Return True if the target has all rows that no writer changes, and so each chunk of the snapshot."""
    captured = storm.captured
    anchors = sorted(storm.anchors)
    with closing(captured.connect(target)) as connection:
        for table in TABLES:
            if not captured.columns(connection, table):
                return False
            if not _has_all(storm, connection, table, anchors):
                return False
    return beacon_arrived(storm, target, 0)


def _has_all(storm: Storm, connection: Any, table: str, numbers: list[int]) -> bool:
    names = tuple(storm.keys.columns(storm.captured.name))
    marks = f"({', '.join(['%s'] * len(names))})"
    values = [value for number in numbers for value in storm.keys.of(number)]
    with connection.cursor() as cursor:
        within = f"({', '.join(names)}) IN ({', '.join([marks] * len(numbers))})"
        cursor.execute(f"SELECT count(*) FROM {table} WHERE {within}", values)
        return bool(cursor.fetchone()[0] == len(numbers))


def wait_for_beacon(storm: Storm, target: str, number: int, patience_s: float) -> None:
    wait_until(lambda: beacon_arrived(storm, target, number), patience_s, f"the row {number} of the table beacon")
