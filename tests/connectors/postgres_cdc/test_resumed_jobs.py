"""Whole jobs that are resumed behind changes of columns in PostgreSQL, while the log has rows from before them."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cdc.captured import CapturedPostgres
from tests.cdc.small_job import SmallJob, small_job
from tests.torture.process import Engine

pytestmark = [pytest.mark.spark, pytest.mark.servers, pytest.mark.timeout(400)]

TABLES = (
    "CREATE TABLE t (id int PRIMARY KEY, note varchar(20))",
    "INSERT INTO t VALUES (1, 'one')",
    "CREATE TABLE other (id int PRIMARY KEY)",
)
ADD, DROP = "ALTER TABLE t ADD COLUMN extra int", "ALTER TABLE t DROP COLUMN note"


@pytest.fixture
def small(tmp_path: Path) -> Iterator[SmallJob]:
    with small_job(CapturedPostgres(), tmp_path / "job", TABLES) as small:
        yield small


def begun(small: SmallJob) -> Engine:
    """Start the job, and wait until it has read the log behind its snapshot."""
    engine = small.begin()
    for number in (1, 2):
        small.source(f"INSERT INTO other VALUES ({number})")
        small.wait_until_equal(engine)
    return engine


def stopped(engine: Engine, change: str) -> None:
    """Wait until the job has stopped before a change."""
    assert engine.wait(120) not in (0, 130), engine.output
    assert "COLUMNS-CHANGED" in engine.output, engine.output[-4000:]
    assert change in engine.output, engine.output[-4000:]


def test_a_killed_job_reads_the_rows_from_before_a_change(small: SmallJob) -> None:
    engine = begun(small)
    engine.signal(signal.SIGKILL)
    engine.wait(60)
    small.source("INSERT INTO t VALUES (2, 'two')", "UPDATE t SET note = 'ONE' WHERE id = 1", DROP)
    small.source("INSERT INTO t VALUES (3)", "INSERT INTO other VALUES (3)")
    stopped(small.job.start(), "note was removed")
    assert small.target("SELECT * FROM t ORDER BY id") == [(1, "ONE"), (2, "two")]
    small.target(DROP)
    small.begin()


def test_several_changes_of_two_tables(small: SmallJob) -> None:
    """Both tables have their last columns before the job is resumed for the first time."""
    engine = begun(small)
    small.source("INSERT INTO t VALUES (2, 'two')", ADD, "INSERT INTO t VALUES (3, 'three', 3)")
    stopped(engine, "extra was added")
    small.source(DROP, "INSERT INTO t VALUES (4, 4)", "INSERT INTO other VALUES (3)")
    small.source("ALTER TABLE other ADD COLUMN more int", "INSERT INTO other VALUES (4, 4)")
    small.target(ADD)
    stopped(small.job.start(), "note was removed")
    assert small.target("SELECT * FROM t ORDER BY id") == [(1, "one", None), (2, "two", None), (3, "three", 3)]
    small.target(DROP)
    stopped(small.job.start(), "more was added")
    assert small.target("SELECT id FROM other ORDER BY id") == [(1,), (2,), (3,)]
    small.target("ALTER TABLE other ADD COLUMN more int")
    small.begin()
