"""Changes of columns: the job stops before them, and continues once the target has been changed in the same way."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cdc.captured import DATABASES, EACH_KIND, Captured
from tests.cdc.small_job import SmallJob, small_job
from tests.torture.process import Engine

pytestmark = [pytest.mark.spark, pytest.mark.servers, pytest.mark.timeout(600)]

TABLES = (
    "CREATE TABLE t (id int PRIMARY KEY, amount int, note varchar(20))",
    "INSERT INTO t VALUES (1, 1, 'one'), (2, 2, 'two')",
    "CREATE TABLE other (id int PRIMARY KEY)",
    "INSERT INTO other VALUES (1)",
)
CHANGES = {
    "add": ("ALTER TABLE t ADD COLUMN extra int", "INSERT INTO t VALUES (4, 4, 'four', 44)", "extra"),
    "drop": ("ALTER TABLE t DROP COLUMN note", "INSERT INTO t (id, amount) VALUES (4, 4)", "note"),
    "rename": ("ALTER TABLE t RENAME COLUMN note TO memo", "INSERT INTO t VALUES (4, 4, 'four')", "memo"),
    "type": ("ALTER TABLE t {modify} amount {type} bigint", "INSERT INTO t VALUES (4, 4000000000, 'four')", "amount"),
}


@pytest.fixture(params=EACH_KIND)
def captured(request: pytest.FixtureRequest) -> Captured:
    return DATABASES[request.param]()


@pytest.fixture
def small(captured: Captured, tmp_path: Path) -> Iterator[SmallJob]:
    with small_job(captured, tmp_path / "job", TABLES) as small:
        yield small


def statement(captured: Captured, change: str) -> str:
    """Return the ALTER TABLE of a change."""
    if captured.name == "postgres":
        return CHANGES[change][0].format(modify="ALTER", type="TYPE")
    if captured.name == "mariadb" or change != "rename":
        return CHANGES[change][0].format(modify="MODIFY", type="")
    return "ALTER TABLE t CHANGE note memo varchar(20)"


def stopped(small: SmallJob, engine: Engine, column: str) -> None:
    """Wait until the job has stopped before a change, with an error that names the table, the column and a position."""
    assert engine.wait(120) not in (0, 130), engine.output
    said = engine.output
    assert "Change the target in the same way, and resume the job" in said, said[-4000:]
    for each in ("COLUMNS-CHANGED", "small.", column, " at "):
        assert each in said, said[-4000:]
    assert [id for (id,) in small.target("SELECT id FROM t ORDER BY id")] == [1, 2, 3]


@pytest.mark.parametrize("changes", [("type", "add", "drop"), ("rename",)], ids="-".join)
def test_the_job_continues_once_the_target_was_changed(
    small: SmallJob, captured: Captured, changes: tuple[str, ...]
) -> None:
    """One job for several changes. It does not continue before, and continues after a kill."""
    engine = small.begin()
    for change in changes:
        _, row, column = CHANGES[change]
        # Rows before the change, in the same part of the log.
        small.source("INSERT INTO t (id, amount, note) VALUES (3, 3, 'three')", statement(captured, change), row)
        small.source("INSERT INTO other SELECT max(id) + 1 FROM other")
        stopped(small, engine, column)
        if change == "add":
            engine = small.job.start()
            assert engine.wait(120) not in (0, 130), engine.output
            assert column in engine.output, engine.output[-4000:]
        small.target(statement(captured, change))
        engine = small.begin()
        small.source("UPDATE t SET amount = amount + 1", "DELETE FROM t WHERE id > 2")
        small.wait_until_equal(engine)
    engine.signal(signal.SIGKILL)
    engine.wait(60)
    small.source("UPDATE t SET amount = amount + 1", "INSERT INTO other VALUES (0)")
    small.begin()


def test_two_changes_without_rows_in_between(small: SmallJob, captured: Captured) -> None:
    engine = small.begin()
    both = statement(captured, "add"), statement(captured, "drop")
    small.source("INSERT INTO t VALUES (3, 3, 'three')", *both, "INSERT INTO t VALUES (5, 5, 55)")
    stopped(small, engine, "t")
    small.target(*both)
    small.begin()


@pytest.mark.parametrize("captured", [kind for kind in EACH_KIND if "postgres" not in kind.values], indirect=True)
def test_rows_of_an_intermediate_shape_are_an_error(small: SmallJob, captured: Captured) -> None:
    """The log of PostgreSQL describes such rows, so these can be read."""
    engine = small.begin()
    small.source("INSERT INTO t VALUES (3, 3, 'three')", statement(captured, "add"), CHANGES["add"][1])
    stopped(small, engine, "extra")
    small.source(statement(captured, "drop"))
    small.target(statement(captured, "add"), statement(captured, "drop"))
    before = small.target("SELECT * FROM t ORDER BY id")
    engine = small.job.start()
    assert engine.wait(120) not in (0, 130), engine.output
    assert "the table no longer has" in engine.output, engine.output[-4000:]
    assert small.target("SELECT * FROM t ORDER BY id") == before


def test_a_change_while_the_job_is_stopped(small: SmallJob, captured: Captured) -> None:
    engine = small.begin()
    for number in (11, 12):  # the second row is read from the log after the marks of the copy
        small.source(f"INSERT INTO t VALUES ({number}, 3, 'logged')")
        small.wait_until_equal(engine)
    assert small.job.stop(60) == 130
    small.source(statement(captured, "add"), CHANGES["add"][1])
    small.target(statement(captured, "add"))
    small.begin()
