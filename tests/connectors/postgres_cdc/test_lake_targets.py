"""Whole databases from PostgreSQL to files and tables of a lake, while a client writes."""

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from attrs import define, field

from seatunnel_core.job.restoring import Restore
from seatunnel_core.runtime.job_run import JobRun
from tests.cdc.captured import CapturedPostgres
from tests.cdc.storm import wait_until
from tests.connectors.iceberg.iceberg_reading import visible_rows
from tests.connectors.iceberg.iceberg_tables import iceberg_sink, table_in
from tests.runtime.ground import ground_in

pytestmark = [pytest.mark.servers, pytest.mark.spark, pytest.mark.timeout(300)]
SOURCE, LAST = "lakes", 1_000_000
WAIT_S = 90
Rows = dict[int, tuple[str, int]]


@define
class Shop:
    """A database whose tables have the names t0, t1 …; a client changes them."""

    tables: int
    captured: CapturedPostgres = field(factory=CapturedPostgres)
    _over: threading.Event = field(init=False, factory=threading.Event)
    _random: random.Random = field(init=False, factory=lambda: random.Random(7))

    @property
    def names(self) -> list[str]:
        return [f"t{number}" for number in range(self.tables)]

    def create(self) -> None:
        self.captured.release(SOURCE)
        self.captured.recreate(SOURCE)
        for name in self.names:
            self.captured.run(
                SOURCE,
                f"CREATE TABLE {name} (id bigint PRIMARY KEY, name text NOT NULL, n int NOT NULL)",
                f"INSERT INTO {name} SELECT i, 'first', 0 FROM generate_series(1, 40) i",
            )

    @contextmanager
    def changing(self) -> Iterator[None]:
        writer = threading.Thread(target=self._change)
        writer.start()
        try:
            yield
        finally:
            self._over.set()
            writer.join()

    def _change(self) -> None:
        from psycopg.errors import UniqueViolation

        with self.captured.connect(SOURCE) as connection:
            while not self._over.wait(0.005):
                name, key, other = self._random.choice(self.names), *self._random.sample(range(1, 60), 2)
                insert = f"INSERT INTO {name} VALUES ({key}, 'new', 1) ON CONFLICT (id) DO UPDATE SET n = {name}.n + 1"
                change = self._random.choice(
                    [f"DELETE FROM {name} WHERE id = {key}", f"UPDATE {name} SET id = {other} WHERE id = {key}"]
                )
                with suppress(UniqueViolation), connection.transaction():
                    connection.execute(self._random.choice([insert, change]))

    def end(self) -> None:
        """Add the last row of each table."""
        for name in self.names:
            self.captured.run(SOURCE, f"INSERT INTO {name} VALUES ({LAST}, 'last', 0)")

    def rows(self, table: str) -> Rows:
        return {key: (name, n) for key, name, n in self.captured.run(SOURCE, f"SELECT * FROM {table}")}

    def job(self, sink: str, transform: str = "") -> str:
        made = self.captured.source_block(SOURCE, [], SOURCE, "snapshot.split.size = 10")
        made = made.replace("table-names = []", f'table-pattern = "{SOURCE}.public.t[0-9]+"')
        env = "job.mode = STREAMING, parallelism = 2, checkpoint.interval = 200"
        return f"env {{ {env} }}\nsource {{{made}\n}}\ntransform {{ {transform} }}\nsink {{{sink}\n}}\n"


@contextmanager
def shop(tables: int) -> Iterator[Shop]:
    made = Shop(tables)
    made.create()
    try:
        yield made
    finally:
        made.captured.release(SOURCE)


def until(run: JobRun, condition: Any, what: str) -> None:
    """Wait for something that a running job does."""
    wait_until(lambda: condition() or run.wait(0.05), WAIT_S, what)
    assert run.wait(0.01) is None, run.wait(0.01)


def test_parquet_gets_each_change_with_its_kind_time_and_position(tmp_path: Path) -> None:
    metadata = "Metadata { metadata_fields { EventTime = at, Position = position } }"
    sink = f'LocalFile {{ path = "{tmp_path}/out/${{table_name}}", file_format_type = parquet }}'
    with shop(2) as source, ground_in(tmp_path) as ground:
        with ground.run(source.job(sink, f"{metadata}\nRowKindExtractor {{ custom_field_name = kind }}")) as run:
            run.start()
            until(run, lambda: len(changes(tmp_path, "t1")) >= 40, "the tables")
            with source.changing():
                until(run, lambda: len(changes(tmp_path, "t1")) > 100, "changes")
            source.end()
            until(
                run, lambda: all(any(row["id"] == LAST for row in changes(tmp_path, name)) for name in source.names), ""
            )
            run.kill()
        for name in source.names:
            assert replayed(changes(tmp_path, name)) == source.rows(name)


def changes(folder: Path, table: str) -> list[dict[str, Any]]:
    return [
        row for path in sorted((folder / "out" / table).glob("*.parquet")) for row in pq.read_table(path).to_pylist()
    ]


def replayed(found: list[dict[str, Any]]) -> Rows:
    """Apply changes in the order of their positions; rows that were read from the table come first."""
    rows: Rows = {}
    for row in sorted(found, key=lambda row: row["position"] or ""):
        assert (row["at"] is None) == (row["position"] is None)
        assert row["at"] is None or row["at"] > 1_700_000_000_000
        if row["kind"] in ("-U", "-D"):
            rows.pop(row["id"], None)
        else:
            rows[row["id"]] = row["name"], row["n"]
    return rows


def test_duckdb_gets_a_whole_database(tmp_path: Path) -> None:
    sink = f'DuckDB {{ path = "{tmp_path}/lake.duckdb", table = "${{table_name}}", write_mode = merge }}'
    with shop(20) as source, ground_in(tmp_path) as ground:
        with source.changing(), ground.run(source.job(sink)) as run:
            run.start()
            until(run, lambda: len(in_duckdb(tmp_path, "t19")) > 30, "the tables")
            run.savepoint("stop", stop=True, timeout=WAIT_S)
            assert run.wait(WAIT_S) is not None
        source.end()
        with ground.run(source.job(sink), restore=Restore()) as run:
            run.start()
            until(run, lambda: all(LAST in in_duckdb(tmp_path, name) for name in source.names), "the last rows")
            run.kill()
        for name in source.names:
            assert in_duckdb(tmp_path, name) == source.rows(name)


def in_duckdb(folder: Path, table: str) -> Rows:
    try:
        with duckdb.connect(str(folder / "lake.duckdb"), read_only=True) as connection:
            return {key: (name, n) for key, name, n in connection.execute(f"FROM {table}").fetchall()}
    except (duckdb.CatalogException, duckdb.IOException, duckdb.ConnectionException):
        return {}


def test_iceberg_merges_changes_once_over_a_kill(tmp_path: Path) -> None:
    sink = iceberg_sink("lake", tmp_path, more="write_mode = merge").replace("plugin_input = lake", "")
    sink = sink.replace("table = lake", 'table = "${table_name}"')
    with shop(3) as source, ground_in(tmp_path) as ground:
        with source.changing():
            for number in range(2):
                with ground.run(source.job(sink), restore=Restore() if number else None) as run:
                    run.start()
                    until(run, lambda more=8 + 8 * number: snapshots(tmp_path) > more, "commits")
                    run.kill()
        source.end()
        with ground.run(source.job(sink), restore=Restore()) as run:
            run.start()
            until(run, lambda: all(LAST in merged(tmp_path, name) for name in source.names), "the last rows")
            run.kill()
        for name in source.names:
            assert merged(tmp_path, name) == source.rows(name)


def snapshots(folder: Path) -> int:
    try:
        return len(table_in(folder, "t0").metadata.snapshots)
    except Exception:  # it does not exist yet
        return 0


def merged(folder: Path, table: str) -> Rows:
    found = visible_rows(table_in(folder, table))
    assert len({row["id"] for row in found}) == len(found), "each key once"
    return {row["id"]: (row["name"], row["n"]) for row in found}
