"""Change data capture of many tables, many chunks, and a large transaction: time, memory and size of the state.

``python -m tests.cdc.scale --database mariadb --measure tables --number 1000``; without ``--number`` as many as the
page of measurements states.
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from attrs import define, field

from tests.cdc.captured import COPY, DATABASES, Captured
from tests.cdc.job import CopyJob
from tests.cdc.storm import wait_until
from tests.cdc.usage import Usage
from tests.torture.process import Engine

PATIENCE_S = 1_800.0
ROWS = 10
"""Rows of each of many tables."""

SOURCE = "many"
LAYOUT = "(id bigint PRIMARY KEY, name varchar(100), amount bigint)"
Figures = dict[str, float]


@define
class Measured:
    """A job that copies tables of a database while its processes are watched."""

    captured: Captured
    folder: Path
    source_options: str = ""
    figures: Figures = field(init=False, factory=dict)
    job: CopyJob = field(init=False)
    _engine: Engine = field(init=False)
    _usage: Usage = field(init=False)

    def prepare(self) -> None:
        """Create empty databases."""
        wait_until(self._is_released, PATIENCE_S, "the server has ended the reader of the slot")
        self.captured.recreate(SOURCE)
        self.captured.recreate(COPY)

    def _is_released(self) -> bool:
        try:
            self.captured.release(SOURCE)
        except Exception:
            return False
        return True

    @contextmanager
    def running(self, tables: Sequence[str]) -> Iterator[None]:
        """Run the job, and take its figures at the end."""
        self.job = CopyJob(
            folder=self.folder,
            captured=self.captured,
            database=SOURCE,
            tables=tuple(tables),
            slot=SOURCE,
            source_options=self.source_options,
            interval_ms=1_000,
        )
        self.job.write()
        self._engine = self.job.start()
        self._usage = Usage(self._engine.pid)
        try:
            yield
            self._usage.sample()
            self.figures["driver MiB"] = self._usage.peak_mib("driver")
            self.figures["worker MiB"] = self._usage.peak_mib("worker")
            assert self.job.stop(PATIENCE_S) == 130, self._engine.output[-4000:]
        finally:
            self._usage.close()
            self.job.end()

    def wait(self, name: str, condition: Callable[[Any], bool]) -> None:
        """Wait until the target is as expected; note how long it took, and the processor time of the job.

        Raises:
            AssertionError: The job ended before, or it takes too long.
        """
        self._usage.sample()
        began, cpu_s = time.monotonic(), self._usage.cpu_s
        while True:
            self._weigh()
            with closing(self.captured.connect(COPY)) as connection, connection.cursor() as cursor:
                if condition(cursor):
                    break
            assert self._engine.exit_code is None, self._engine.output[-4000:]
            assert time.monotonic() - began < PATIENCE_S, f"{name}: not in {PATIENCE_S:.0f} s"
            time.sleep(0.5)
        self._usage.sample()
        self.figures[f"{name} s"] = time.monotonic() - began
        self.figures[f"{name} cpu s"] = self._usage.cpu_s - cpu_s

    def run(self, statements: Iterator[str]) -> None:
        """Run statements at the source, each as a transaction."""
        with closing(self.captured.connect(SOURCE)) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def _weigh(self) -> None:
        """Note the size of the largest checkpoint, and of what is stored once."""
        for path in (self.folder / "state").rglob("*"):
            kind = {".ckpt": "checkpoint KB", ".attachment": "attachment KB"}.get(path.suffix)
            if kind is not None:
                try:
                    size = path.stat().st_size / 1000
                except FileNotFoundError:  # an expired checkpoint
                    continue
                self.figures[kind] = max(size, self.figures.get(kind, 0))

    def tables_at_target(self, cursor: Any) -> int:
        schema = "public" if self.captured.name == "postgres" else COPY
        cursor.execute(
            f"SELECT count(*) FROM information_schema.tables WHERE table_schema = '{schema}' AND table_name LIKE 't0%'"
        )
        return int(cursor.fetchone()[0])


def many_tables(measured: Measured, number: int) -> Figures:
    """Copy many small tables, and then a change of each."""
    measured.prepare()
    names = [f"t{each:05}" for each in range(number)]
    values = ", ".join(f"({each}, 'text {each}', {each})" for each in range(ROWS))
    measured.run(each for name in names for each in _made(name, f"VALUES {values}"))

    def total(cursor: Any) -> int:
        if measured.tables_at_target(cursor) < number:
            return -1
        found = 0
        for first in range(0, number, 200):
            each = " UNION ALL ".join(f"SELECT sum(amount) AS s FROM {name}" for name in names[first : first + 200])
            cursor.execute(f"SELECT sum(s) FROM ({each}) AS every")
            found += int(cursor.fetchone()[0] or 0)
        return found

    with measured.running(names):
        measured.wait("copy", lambda cursor: total(cursor) == number * sum(range(ROWS)))
        measured.run(f"UPDATE {name} SET amount = amount + 100 WHERE id = 5" for name in names)
        measured.wait("changes", lambda cursor: total(cursor) == number * (sum(range(ROWS)) + 100))
    return measured.figures


def many_chunks(measured: Measured, number: int) -> Figures:
    """Copy a table in chunks of ten rows."""
    measured.source_options = "snapshot.split.size = 10"
    measured.prepare()
    measured.run(iter(_made("t00000", numbers(measured.captured, 10 * number))))
    with measured.running(["t00000"]):
        measured.wait("copy", lambda cursor: _rows(measured, cursor) == 10 * number)
    return measured.figures


def large_transaction(measured: Measured, number: int) -> Figures:
    """Copy a transaction of many rows from the log; no part of it is ever at the target."""
    measured.prepare()
    measured.run(iter(_made("t00000", "VALUES (0, 'first', 0)")))
    seen = set()

    def arrived(cursor: Any) -> bool:
        seen.add(_rows(measured, cursor))
        return number + 1 in seen

    with measured.running(["t00000"]):
        measured.wait("copy", lambda cursor: _rows(measured, cursor) == 1)
        measured.run(iter([f"INSERT INTO t00000 {numbers(measured.captured, number)}"]))
        measured.wait("transaction", arrived)
    assert seen == {1, number + 1}, seen
    return measured.figures


def _made(name: str, rows: str) -> list[str]:
    return [f"CREATE TABLE {name} {LAYOUT}", f"INSERT INTO {name} {rows}"]


def _rows(measured: Measured, cursor: Any) -> int:
    if not measured.tables_at_target(cursor):
        return 0
    cursor.execute("SELECT count(*) FROM t00000")
    return int(cursor.fetchone()[0])


def numbers(captured: Captured, most: int) -> str:
    """Return a query for rows with the keys from 1 on."""
    if captured.name == "postgres":
        return f"SELECT n, 'text ' || n, n FROM generate_series(1, {most}) AS n"
    if captured.name == "mariadb":
        return f"SELECT seq, concat('text ', seq), seq FROM seq_1_to_{most}"
    digits = "(" + " UNION ALL ".join(f"SELECT {each} AS d" for each in range(10)) + ")"
    powers = range(len(str(most)))
    value = " + ".join(f"{10**each} * t{each}.d" for each in powers)
    joined = " CROSS JOIN ".join(f"{digits} AS t{each}" for each in powers)
    numbered = f"SELECT {value} AS n FROM {joined}"
    return f"SELECT n, concat('text ', n), n FROM ({numbered}) AS every WHERE n BETWEEN 1 AND {most}"


MEASURES: dict[str, tuple[Callable[[Measured, int], Figures], int]] = {
    "tables": (many_tables, 1_000),
    "chunks": (many_chunks, 5_000),
    "transaction": (large_transaction, 5_000_000),
}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.cdc.scale", description=__doc__)
    parser.add_argument("--database", default="postgres,mariadb", help=f"some of {', '.join(DATABASES)}")
    parser.add_argument("--measure", default=",".join(MEASURES), help="some of the measurements")
    parser.add_argument("--number", type=int, help="number of tables, chunks or rows")
    arguments = parser.parse_args(argv)
    for database in arguments.database.split(","):
        for name in arguments.measure.split(","):
            play, number = MEASURES[name]
            folder = Path(tempfile.mkdtemp(prefix="seatunnel-scale-"))
            try:
                found = play(Measured(DATABASES[database](), folder), arguments.number or number)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            told = "  ".join(f"{key} {value:,.1f}" for key, value in found.items())
            print(f"{database:12}{arguments.number or number:>10,} {name:12} {told}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
