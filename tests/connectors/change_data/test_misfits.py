"""Values that rows cannot represent, in masked columns and in rows that a filter drops."""

from pathlib import Path
from typing import Any

import pytest

from tests.cdc.captured import DATABASES, EACH_KIND, Captured
from tests.cdc.small_job import SmallJob, small_job

pytestmark = [pytest.mark.spark, pytest.mark.servers, pytest.mark.timeout(300)]

DATE, TIME = ("date", "12345-06-07"), ("time", "123:45:56")
"""A type, and a value of it that rows cannot represent, of PostgreSQL and of MySQL."""

MASK = 'debezium { "column.mask.with.3.chars" = ".*t\\\\.private" }'
FILTER = 'table-names-config = [{ table = "t", filter = "gone IS NULL" }]'


@pytest.fixture(params=EACH_KIND)
def captured(request: pytest.FixtureRequest) -> Captured:
    return DATABASES[request.param]()


def keys(small: SmallJob) -> list[tuple[Any, ...]]:
    return small.target_rows("SELECT id FROM t ORDER BY id")


@pytest.mark.parametrize("in_log", [True, False], ids=["log", "table"])
def test_a_masked_value_is_never_shown(captured: Captured, tmp_path: Path, *, in_log: bool) -> None:
    kind, value = DATE if captured.name == "postgres" else TIME
    row = f"INSERT INTO t VALUES (2, '{value}')"
    definitions = [f"CREATE TABLE t (id int PRIMARY KEY, private {kind} NULL)", "INSERT INTO t (id) VALUES (1)"]
    definitions += () if in_log else (row,)
    with small_job(captured, tmp_path / "job", definitions, source_options=MASK) as small:
        engine = small.job.start()
        if in_log:
            small.wait(engine, lambda: keys(small) == [(1,)], "the first row")
            small.source(row)
        assert engine.wait(120) not in (0, 130), engine.output
        said = " ".join(engine.output.split())
        assert "column 'private'" in said, said[-4000:]
        assert "the column is masked" in said, said[-4000:]
        assert value not in said


def test_a_row_that_the_filter_drops_may_have_any_value(captured: Captured, tmp_path: Path) -> None:
    kind, value = DATE if captured.name == "postgres" else TIME
    dropped = f"INSERT INTO t VALUES ({{}}, CURRENT_TIMESTAMP, '{value}')"
    definitions = [
        f"CREATE TABLE t (id int PRIMARY KEY, gone timestamp NULL, odd {kind} NULL)",
        *(["ALTER TABLE t REPLICA IDENTITY FULL"] if captured.name == "postgres" else []),
        dropped.format(1),
        "INSERT INTO t (id) VALUES (2)",
    ]
    with small_job(captured, tmp_path / "job", definitions, source_options=FILTER) as small:
        engine = small.job.start()
        small.wait(engine, lambda: keys(small) == [(2,)], "the row of the table")
        small.source(dropped.format(3), "INSERT INTO t (id) VALUES (4)", "DELETE FROM t WHERE id = 3")
        small.wait(engine, lambda: keys(small) == [(2,), (4,)], "the row of the log")
        small.source(f"INSERT INTO t VALUES (5, NULL, '{value}')")
        assert engine.wait(120) not in (0, 130), engine.output
        assert value in engine.output
