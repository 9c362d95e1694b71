"""A driver is put to sleep where others can go on without it: not while it holds the lock of a catalog in SQLite."""

import os
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.torture.databases.tables import make_tables
from tests.torture.iceberg import iceberg_targets
from tests.torture.process import Engine, processor_seconds

_HOLDS = """
import sqlite3, sys, time
database = sqlite3.connect(sys.argv[1], isolation_level=None)
while True:
    database.execute("BEGIN IMMEDIATE")
    print("locked", flush=True)
    time.sleep(float(sys.argv[2]))
    database.execute("COMMIT")
    time.sleep(0.05)
"""


def holder(folder: Path, seconds: float) -> tuple[Engine, Path]:
    """A process that holds the lock of a database, again and again."""
    catalog = folder / "catalog.db"
    with closing(sqlite3.connect(catalog)) as database:
        database.execute("CREATE TABLE iceberg_tables (table_name TEXT, metadata_location TEXT)")
    script = folder / "holds.py"
    script.write_text(_HOLDS)
    engine = Engine([str(catalog), str(seconds)], log=folder / "log", environment={}, script=script)
    while "locked" not in engine.output:
        assert engine.exit_code is None, engine.output
        time.sleep(0.01)
    return engine, catalog


def test_a_process_sleeps_without_the_lock(tmp_path: Path) -> None:
    (target, *_) = iceberg_targets(tmp_path, make_tables(tmp_path / "tables", rows=3, seed=1)[:1])
    assert target.free(), "there is no catalog yet"
    engine, catalog = holder(target.folder.parent, 0.2)
    try:
        for _ in range(3):
            engine.pause(target.free)
            assert engine.stopped
            with closing(sqlite3.connect(catalog, timeout=0, isolation_level=None)) as database:
                database.execute("BEGIN EXCLUSIVE")
                database.execute("ROLLBACK")
            engine.signal(signal.SIGCONT)
            time.sleep(0.1)  # into the midst of its next turn
    finally:
        engine.end()


def test_a_process_that_never_lets_go_is_reported(tmp_path: Path) -> None:
    (target, *_) = iceberg_targets(tmp_path, make_tables(tmp_path / "tables", rows=3, seed=1)[:1])
    engine, _ = holder(target.folder.parent, 60)
    try:
        with pytest.raises(TimeoutError, match="holds a lock all the time"):
            engine.pause(target.free, patience_s=0.3)
    finally:
        engine.end()


def test_whether_a_process_hangs_or_gets_no_processor_is_reported(tmp_path: Path) -> None:
    script = tmp_path / "sleeps.py"
    script.write_text(
        "import faulthandler, signal, time; faulthandler.register(signal.SIGUSR1); print(1, flush=True); time.sleep(60)"
    )
    engine = Engine([], log=tmp_path / "log", environment={}, script=script)
    while not engine.output:
        time.sleep(0.01)
    with pytest.raises(TimeoutError, match=r"threads have run for \d+ s and waited \d+ s for a processor"):
        engine.wait(0)
    assert engine.exit_code is not None
    ran_s, _ = processor_seconds(os.getpid())
    assert ran_s > 0
