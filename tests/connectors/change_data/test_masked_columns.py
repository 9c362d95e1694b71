"""Masked columns that are added and dropped: the job continues with the same rules."""

from pathlib import Path
from typing import Any

import pytest

from tests.cdc.captured import DATABASES, EACH_KIND, Captured
from tests.cdc.small_job import SmallJob, small_job

pytestmark = [pytest.mark.spark, pytest.mark.servers, pytest.mark.timeout(400)]

MASK = 'debezium { "column.mask.with.3.chars" = ".*t\\\\.secret.*" }'


@pytest.fixture(params=EACH_KIND)
def captured(request: pytest.FixtureRequest) -> Captured:
    return DATABASES[request.param]()


def rows(small: SmallJob) -> list[tuple[Any, ...]]:
    return small.target_rows("SELECT * FROM t ORDER BY id")


def test_the_job_continues_after_a_change_of_masked_columns(captured: Captured, tmp_path: Path) -> None:
    """In the end, no column has a mask."""
    definitions = [
        "CREATE TABLE t (id int PRIMARY KEY, secret varchar(20))",
        "INSERT INTO t VALUES (1, 'a')",
    ]
    changes = [
        (
            "ADD COLUMN secret2 varchar(20)",
            "INSERT INTO t VALUES (2, 'b', 'c')",
            (2, "***", "***"),
        ),
        ("DROP COLUMN secret", "INSERT INTO t (id, secret2) VALUES (3, 'd')", (3, "***")),
        ("DROP COLUMN secret2", "INSERT INTO t (id) VALUES (4)", (4,)),
    ]
    with small_job(captured, tmp_path / "job", definitions, source_options=MASK) as small:
        engine = small.job.start()
        small.wait(engine, lambda: rows(small) == [(1, "***")], "the row of the table")
        for change, inserted, expected in changes:
            small.source(f"ALTER TABLE t {change}", inserted)
            assert engine.wait(120) not in (0, 130), engine.output
            assert "resume the job" in " ".join(engine.output.split()), engine.output[-4000:]
            small.target(f"ALTER TABLE t {change}")
            engine = small.job.start()
            small.wait(engine, lambda row=expected: rows(small)[-1:] == [row], str(expected))
