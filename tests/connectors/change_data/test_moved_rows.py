"""Rows that move between two tables with one target, from PostgreSQL and MariaDB to Jdbc and DuckDB."""

import random
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest
from attrs import define, field

from seatunnel_core.job.restoring import Restore
from seatunnel_core.runtime.job_run import JobRun
from tests.cdc.captured import COPY, DATABASES, Captured
from tests.cdc.storm import wait_until
from tests.runtime.ground import Ground, ground_in

pytestmark = [pytest.mark.servers, pytest.mark.spark, pytest.mark.timeout(300)]
SOURCE, WAIT_S = "shards", 90
FIRST, SECOND = "orders_1", "orders_2"
SENTINEL = 1_000_000
Rows = dict[int, str]


@define
class Shards:
    """A database with two shards of a table: the first one has the lower keys, the second one the higher keys."""

    captured: Captured
    folder: Path
    target: str
    """``direct``, ``exact`` or ``duckdb``."""

    size: int = 20
    """Number of rows of each shard."""

    def create(self) -> None:
        self.captured.release(SOURCE)
        self.captured.recreate(SOURCE)
        self.captured.recreate(COPY)
        for name, first in ((FIRST, 1), (SECOND, self.size + 1)):
            rows = ", ".join(f"({key}, 'first')" for key in range(first, first + self.size))
            self.captured.run(
                SOURCE,
                f"CREATE TABLE {name} (id bigint PRIMARY KEY, name varchar(40) NOT NULL)",
                f"INSERT INTO {name} VALUES {rows}",
            )

    def transaction(self, *statements: str) -> None:
        self.captured.run(SOURCE, "BEGIN", *statements, "COMMIT")

    def job(self, source_options: str = "snapshot.split.size = 10") -> str:
        source = self.captured.source_block(SOURCE, [FIRST, SECOND], SOURCE, source_options)
        sink = f'DuckDB {{ path = "{self.folder}/copy.duckdb", table = orders, write_mode = merge }}'
        if self.target != "duckdb":
            sink = self.captured.sink_block(COPY).replace("${table_name}", "orders")
            sink = sink.replace("is_exactly_once = true", f"is_exactly_once = {str(self.target == 'exact').lower()}")
            sink = sink.replace("generate_sink_sql = true", "generate_sink_sql = true, primary_keys = [id]")
        env = "job.mode = STREAMING, parallelism = 2, checkpoint.interval = 200"
        return f"env {{ {env} }}\nsource {{{source}\n}}\nsink {{{sink}\n}}\n"

    def rows(self) -> Rows:
        """Return the rows of both shards."""
        found = [row for name in (FIRST, SECOND) for row in self.captured.run(SOURCE, f"SELECT id, name FROM {name}")]
        assert len(dict(found)) == len(found), "each key is in one shard"
        return dict(found)

    def copied(self) -> Rows:
        try:
            if self.target == "duckdb":
                with duckdb.connect(str(self.folder / "copy.duckdb"), read_only=True) as connection:
                    return dict(connection.execute("SELECT id, name FROM orders").fetchall())
            return dict(self.captured.run(COPY, "SELECT id, name FROM orders"))
        except (duckdb.CatalogException, duckdb.IOException, duckdb.ConnectionException):
            return {}
        except Exception as error:
            if self.captured.code(error) in ("42P01", 1146):  # The table does not exist yet.
                return {}
            raise

    def until(self, run: JobRun, condition: Any, what: str) -> None:
        """Wait for something that the running job does."""
        wait_until(lambda: condition() or run.wait(0.05), WAIT_S, what)
        assert run.wait(0.01) is None, run.wait(0.01)


@pytest.fixture(params=["direct", "exact", "duckdb"])
def target(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@contextmanager
def shards(database: str, target: str, folder: Path, size: int = 20) -> Iterator[tuple[Shards, Ground]]:
    made = Shards(DATABASES[database](), folder, target, size)
    made.create()
    try:
        with ground_in(folder) as ground:
            yield made, ground
    finally:
        made.captured.release(SOURCE)


def moved(key: int, source: str, into: str) -> Sequence[str]:
    """Return the statements that move a row: its deletion, and its insertion."""
    return f"DELETE FROM {source} WHERE id = {key}", f"INSERT INTO {into} VALUES ({key}, 'moved')"


def move_rows(source: Shards) -> None:
    """Move rows in both directions: first deleted or first inserted in one transaction, or first deleted in two."""
    source.transaction(f"INSERT INTO {SECOND} VALUES (50, 'new')", f"INSERT INTO {FIRST} VALUES (51, 'new')")
    for first, own, other in ((1, FIRST, SECOND), (21, SECOND, FIRST)):
        source.transaction(*moved(first, own, other))
        source.transaction(*reversed(moved(first + 1, own, other)))
        source.captured.run(SOURCE, *moved(first + 2, own, other))
        source.transaction(*moved(first + 4, own, other), *moved(first + 4, other, own))
        source.transaction(*moved(first + 5, own, other), f"UPDATE {other} SET name = 'changed' WHERE id = {first + 5}")
        some = f"WHERE id BETWEEN {first + 10} AND {first + 15}"
        source.transaction(f"INSERT INTO {other} SELECT id, 'copied' FROM {own} {some}", f"DELETE FROM {own} {some}")
    source.transaction(f"INSERT INTO {FIRST} VALUES ({SENTINEL}, 'last')")


@pytest.mark.parametrize("database", ["postgres", "mariadb"])
def test_rows_that_move_between_tables_stay(database: str, target: str, tmp_path: Path) -> None:
    """They were missing: a batch of the log was applied table by table."""
    with shards(database, target, tmp_path) as (source, ground):
        with ground.run(source.job()) as run:
            run.start()
            source.until(run, lambda: source.copied() == source.rows(), "the tables")
            run.savepoint("stop", stop=True, timeout=WAIT_S)
            assert run.wait(WAIT_S) is not None
        move_rows(source)
        with ground.run(source.job(), restore=Restore()) as run:
            run.start()
            source.until(run, lambda: SENTINEL in source.copied(), "the last row")
            run.kill()
        expected, found = source.rows(), source.copied()
        assert {key: found.get(key) for key in expected} == expected
        assert found == expected


@define
class Mover:
    """A client that moves rows between the shards, each in one transaction, first deleted or first inserted."""

    source: Shards
    _over: threading.Event = field(init=False, factory=threading.Event)
    _random: random.Random = field(init=False, factory=lambda: random.Random(7))

    @contextmanager
    def moving(self) -> Iterator[None]:
        writer = threading.Thread(target=self._move)
        writer.start()
        try:
            yield
        finally:
            self._over.set()
            writer.join()

    def _move(self) -> None:
        at = {key: (FIRST, SECOND)[key > self.source.size] for key in range(1, 2 * self.source.size + 1)}
        with closing(self.source.captured.connect(SOURCE)) as connection, connection.cursor() as cursor:
            while not self._over.wait(0.001):
                key = self._random.choice([*at])
                own, other = at[key], FIRST if at[key] == SECOND else SECOND
                statements = moved(key, own, other)
                cursor.execute("BEGIN")
                for statement in statements if self._random.random() < 0.5 else reversed(statements):
                    cursor.execute(statement)
                cursor.execute("COMMIT")
                at[key] = other


@pytest.mark.parametrize("database", ["postgres", "mariadb"])
def test_rows_that_move_while_the_tables_are_read_stay(database: str, target: str, tmp_path: Path) -> None:
    """They were missing: their insertion was part of a chunk, and their deletion was applied after it."""
    size = 1_000
    with shards(database, target, tmp_path, size) as (source, ground):
        with Mover(source).moving():
            with ground.run(source.job()) as run:
                run.start()
                source.until(run, lambda: len(source.copied()) > 0, "a chunk")
                run.kill()
            with ground.run(source.job(), restore=Restore()) as run:
                run.start()
                source.until(run, lambda: len(source.copied()) > 2 * size - 50, "most rows")
                run.kill()
        source.transaction(f"INSERT INTO {FIRST} VALUES ({SENTINEL}, 'last')")
        with ground.run(source.job(), restore=Restore()) as run:
            run.start()
            source.until(run, lambda: SENTINEL in source.copied(), "the last row")
            run.kill()
        expected, found = source.rows(), source.copied()
        assert {key: found.get(key) for key in expected} == expected
        assert found == expected
