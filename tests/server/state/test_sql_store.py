"""A cluster's state in a database: answers that are lost, nodes that stand still, and kills of nodes and servers."""

import contextlib
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from seatunnel_storage_jdbc.database import Database
from seatunnel_storage_jdbc.databases.sqlite import SQLite

from seatunnel_core.server.errors import DeposedError, StateUnavailableError
from seatunnel_core.server.state.sql_store import SqlLease
from seatunnel_storage_api.errors import StorageUnavailableError
from tests.server.state.stores import NAME, Place, a_place

ROUNDS = int(os.environ.get("SEATUNNEL_RUNS", "5"))
SEED = int(os.environ.get("SEATUNNEL_SEED", "1"))


@contextmanager
def failing(monkeypatch: pytest.MonkeyPatch, *, before: bool, times: int) -> Iterator[None]:
    """Transactions that change something fail: before their commit, or after it, so that their answer is lost."""
    transaction, left = Database.transaction, [times]

    @contextmanager
    def broken(self: Database, *, writes: bool = False) -> Iterator[sa.Connection]:
        fails = writes and left[0] > 0
        with transaction(self, writes=writes) as connection:
            yield connection
            if fails and before:
                left[0] -= 1
                raise StorageUnavailableError("the connection was lost")
        if fails:
            left[0] -= 1
            raise StorageUnavailableError("the connection was lost")

    with monkeypatch.context() as patches:
        patches.setattr(Database, "transaction", broken)
        yield


@pytest.mark.parametrize("before", [True, False])
def test_a_change_whose_answer_is_lost_is_made_once(
    tables: Place, monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    with failing(monkeypatch, before=before, times=2):
        lease = tables.open().claim()
    with failing(monkeypatch, before=before, times=2):
        lease.commit({"job/1": b"one"})
    lease.commit({"job/2": b"two"})
    assert tables.open().read() == {"job/1": b"one", "job/2": b"two"}
    assert tables.rows(f"SELECT term, changes FROM {tables.prefix}_clusters") == [(lease.term, 2)]


def test_a_change_whose_answer_is_lost_is_refused_after_another_claim(
    tables: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The change was rolled back, and another node leads when it is sent again."""
    lease, other = tables.open().claim(), tables.open()
    attempts = iter([True])
    write = SqlLease._write

    def overtaken(self: SqlLease, *arguments: Any) -> None:
        if next(attempts, False):
            other.claim().commit({"leader": b"other"})
            raise StorageUnavailableError("the connection was lost")
        write(self, *arguments)

    monkeypatch.setattr(SqlLease, "_write", overtaken)
    with pytest.raises(DeposedError, match="has term 2, and this node had term 1"):
        lease.commit({"leader": b"late"})
    assert other.read() == {"leader": b"other"}


def test_a_change_whose_answer_is_lost_is_acknowledged_by_a_commit_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that shows a commit before it is on its disk may lose it again, unless a later commit is on the disk."""
    monkeypatch.setattr(SQLite, "shows_before_durable", True)
    with a_place("sqlite", tmp_path) as place:
        place.open().claim()
        with failing(monkeypatch, before=False, times=1), changing() as changed:
            lease = place.open().claim()
        assert [each.split()[0] for each in changed[-2:]] == ["INSERT", "DELETE"]
        with failing(monkeypatch, before=False, times=1), changing() as changed:
            lease.commit({"job/1": b"one"})
        assert [each.split()[0] for each in changed[-2:]] == ["INSERT", "DELETE"]
        assert place.open().read() == {"job/1": b"one"}


@contextmanager
def changing() -> Iterator[list[str]]:
    """Give the statements that change rows within the block."""
    found: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith(("INSERT", "DELETE", "UPDATE")):
            found.append(statement)

    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    yield found
    sa.event.remove(sa.Engine, "before_cursor_execute", note)


@pytest.mark.servers
@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_a_look_and_a_beat_wait_no_longer_than_a_lease(kind: str, tmp_path: Path) -> None:
    """The server holds every answer back. The next look, or the next beat, comes soon anyway."""
    with a_place(kind, tmp_path) as place:
        store, lease = place.open(answer_s=2), place.open(answer_s=2).claim()
        assert place.server is not None
        with held_back(place):
            for ask in (lambda: store.observe(), lambda: lease.renew(1, b"x")):
                began = time.monotonic()
                with pytest.raises(StateUnavailableError):
                    ask()
                assert time.monotonic() - began < 7
        assert store.observe().number == 0
        lease.renew(2, b"x")


@contextmanager
def held_back(place: Place) -> Iterator[None]:
    """Another transaction holds the rows locked, so that what changes or reads them gets no answer."""
    assert place.server is not None
    with contextlib.closing(place.server.connect()) as connection, contextlib.closing(connection.cursor()) as cursor:
        if "postgres" in type(place.server).__name__.lower():
            cursor.execute("BEGIN")
            cursor.execute(f"LOCK TABLE {place.prefix}_clusters IN ACCESS EXCLUSIVE MODE")
        else:
            cursor.execute("SET SESSION idle_transaction_timeout = 0")
            cursor.execute(f"LOCK TABLES {place.prefix}_clusters WRITE")
        yield
        connection.rollback()


def test_a_database_that_fails_each_time_ends_the_term(tables: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    lease = tables.open().claim()
    with failing(monkeypatch, before=True, times=100), pytest.raises(StateUnavailableError, match="was lost"):
        lease.commit({"job/1": b"one"})
    with pytest.raises(StateUnavailableError, match="lease of term 1 has ended"):
        lease.commit({"job/2": b"two"})
    assert tables.open().claim().entries == {}


def test_a_large_value_is_divided(tables: Place) -> None:
    lease = tables.open().claim()
    large = random.Random(1).randbytes(3_500_000)
    lease.commit({"job/1": large, "job/2": b""})
    lease.commit({"job/3": b"x"})
    assert tables.open().read() == {"job/1": large, "job/2": b"", "job/3": b"x"}
    lease.commit({"job/1": b"small"})
    assert tables.open().read() == {"job/1": b"small", "job/2": b"", "job/3": b"x"}


@pytest.mark.servers
@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_a_node_that_stands_still_within_a_change_is_passed_over(kind: str, tmp_path: Path) -> None:
    """Its row stays locked until the server ends its connection, after 5 s. SQLite has no server that could."""
    with a_place(kind, tmp_path) as place:
        stand_still_in(place)


def stand_still_in(tables: Place) -> None:
    store = tables.open()
    lease = store.claim()
    assert isinstance(lease, SqlLease)
    began, ended = threading.Event(), threading.Event()
    outcome: list[Exception] = []

    def stand_still() -> None:
        try:
            with lease._store.change() as connection:
                lease._updated(connection, sa.true(), changes=1)
                began.set()
                ended.wait(120)
        except Exception as error:
            outcome.append(error)

    standing = threading.Thread(target=stand_still)
    standing.start()
    began.wait(30)
    since = time.monotonic()
    other = tables.open().claim()
    waited = time.monotonic() - since
    ended.set()
    standing.join()
    assert 3 < waited < 40, waited
    assert [type(error).__name__ for error in outcome] == ["StorageUnavailableError"]
    with pytest.raises(DeposedError):
        lease.commit({"job/1": b"late"})
    other.commit({"job/1": b"one"})


# -- kills


class Writers:
    """Processes that count in turns, and what they acknowledged."""

    def __init__(self, place: Place, longest_s: float) -> None:
        assert place.server is not None
        order = {"configuration": place.server.options(), "prefix": place.prefix, "name": NAME, "longest_s": longest_s}
        self._command = [sys.executable, "-m", "tests.server.state.sql_writer", json.dumps(order)]
        self._reading: list[threading.Thread] = []
        self.acknowledged: list[tuple[int, int]] = []
        self.alive: list[subprocess.Popen[str]] = []

    def start(self) -> None:
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
        process = subprocess.Popen(self._command, env=environment, stdout=subprocess.PIPE, text=True)
        self.alive.append(process)
        self._reading.append(threading.Thread(target=self._read, args=(process,)))
        self._reading[-1].start()

    def _read(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                if line.endswith("\n"):
                    term, number = line.split()
                    self.acknowledged.append((int(term), int(number)))

    def kill(self, process: "subprocess.Popen[str]") -> None:
        assert process.poll() is None, "a writer ended by itself"
        process.kill()
        process.wait()
        self.alive.remove(process)

    def stop(self) -> None:
        for process in list(self.alive):
            self.kill(process)
        for thread in self._reading:
            thread.join()

    def wait_for(self, more: int) -> None:
        """Wait until so many further changes were acknowledged."""
        least, end = len(self.acknowledged) + more, time.monotonic() + 120
        while len(self.acknowledged) < least:
            assert time.monotonic() < end, "nothing is acknowledged any more"
            time.sleep(0.005)

    def check(self, found: dict[str, bytes]) -> None:
        """Nothing that was acknowledged is lost, and one term acted at a time."""
        numbers = [number for _, number in self.acknowledged]
        assert len(set(numbers)) == len(numbers), "two terms acknowledged the same number"
        assert int(found.get("number", b"0")) >= max(numbers)
        by_number = sorted(self.acknowledged, key=lambda each: each[1])
        assert [term for term, _ in by_number] == sorted(term for term, _ in by_number), "an older term acted later"
        newest = int(found["number"])
        assert found[f"key/{newest % 20}"] == b"%d" % newest * 300


@contextmanager
def some_writers(place: Place, count: int, *, longest_s: float) -> Iterator[Writers]:
    writers = Writers(place, longest_s)
    try:
        for _ in range(count):
            writers.start()
        writers.wait_for(1)
        yield writers
    finally:
        for process in writers.alive:
            process.kill()
        with contextlib.suppress(AssertionError):
            writers.stop()


def play(place: Place, strike: Callable[[Writers, random.Random], None], figure: Callable[[str], None]) -> None:
    draw = random.Random(SEED)
    with some_writers(place, 3, longest_s=0.5) as writers:
        for _ in range(ROUNDS):
            writers.wait_for(draw.randint(1, 40))
            time.sleep(draw.uniform(0, 0.05))
            strike(writers, draw)
        writers.wait_for(20)
        writers.stop()
        found = dict(place.open().read())
        writers.check(found)
        terms = len({term for term, _ in writers.acknowledged})
        figure(
            f"{ROUNDS} kills, {len(writers.acknowledged)} changes acknowledged in {terms} terms: none lost, none twice"
        )


@pytest.mark.timeout(3_600)
def test_nodes_killed_while_they_commit_lose_nothing(tables: Place, figure: Callable[[str], None]) -> None:
    def strike(writers: Writers, draw: random.Random) -> None:
        writers.kill(draw.choice(writers.alive))
        writers.start()

    play(tables, strike, figure)


@pytest.mark.servers
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_a_server_killed_while_it_commits_loses_nothing(
    kind: str, tmp_path: Path, figure: Callable[[str], None]
) -> None:
    with a_place(kind, tmp_path) as place:

        def strike(_: Writers, __: random.Random) -> None:
            place.server.restart()  # type: ignore[union-attr]

        play(place, strike, figure)
