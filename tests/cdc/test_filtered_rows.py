"""Filters of rows: the target has the rows that meet them, also after updates that change that."""

import random
from pathlib import Path

import pytest

from tests.cdc.captured import DATABASES, EACH_KIND, Captured
from tests.cdc.small_job import SmallJob, small_job

pytestmark = [pytest.mark.spark, pytest.mark.servers, pytest.mark.timeout(300)]

CONDITION = "region IN (7, 8) AND gone IS NULL AND total > -5"
FILTER = f'table-names-config = [{{ table = "t", filter = "{CONDITION}", columns = [id, region, gone, total, name] }}]'
TABLE = (
    "CREATE TABLE t (id int PRIMARY KEY, region int, gone timestamp NULL, other int, total bigint, name varchar(20))"
)
STATEMENTS = 300


@pytest.fixture(params=EACH_KIND)
def captured(request: pytest.FixtureRequest) -> Captured:
    return DATABASES[request.param]()


def rows(small: SmallJob, *, in_target: bool) -> list[str]:
    """Return the rows of the target, or those that it should have."""
    where = "" if in_target else f" WHERE {CONDITION}"
    query = f"SELECT id, region, gone, total, name FROM t{where} ORDER BY id"
    try:
        return [str(row) for row in (small.target if in_target else small.source)(query)]
    except Exception as error:
        if small.captured.code(error) in ("42P01", 1146):
            return ["no table"]
        raise


def change(chosen: random.Random) -> str:
    """Return a statement that changes, inserts or removes a few rows."""
    low = chosen.randrange(100)
    where = f"WHERE id BETWEEN {low} AND {low + chosen.randrange(4)}"
    region, total = chosen.choice((7, 8, 9, "NULL")), chosen.choice((-9, -5, -4, "NULL", 10**12))
    return chosen.choice(
        [
            f"UPDATE t SET region = {region} {where}",
            f"UPDATE t SET total = {total}, other = other + 1 {where}",
            f"UPDATE t SET gone = CASE WHEN gone IS NULL THEN CURRENT_TIMESTAMP END {where}",
            f"UPDATE t SET name = '{low}' {where}",
            f"UPDATE t SET other = {low} {where}",
            f"DELETE FROM t WHERE id = {low}",
            f"DELETE FROM t WHERE id = {low + 1000}",
            f"UPDATE t SET id = id + 1000, region = {region} WHERE id = {low} "
            f"AND {low + 1000} NOT IN (SELECT id FROM (SELECT id FROM t) AS present)",
            f"INSERT INTO t SELECT {low}, {region}, NULL, 1, {total}, 'new' FROM (SELECT 1 AS one) AS once "
            f"WHERE {low} NOT IN (SELECT id FROM (SELECT id FROM t) AS present)",
        ]
    )


def test_the_target_has_the_rows_that_meet_a_filter(captured: Captured, tmp_path: Path) -> None:
    """Changes begin before the table is read, so that some are in a chunk and some in the log."""
    chosen = random.Random(f"{captured.name}")
    values = ", ".join(
        f"({number}, {chosen.choice((7, 8, 9))}, NULL, 0, {number % 9 - 6}, 'old')" for number in range(100)
    )
    definitions = [TABLE, f"INSERT INTO t VALUES {values}"]
    if captured.name == "postgres":
        definitions.append("ALTER TABLE t REPLICA IDENTITY FULL")
    with small_job(
        captured, tmp_path / "job", definitions, source_options=FILTER + "\nsnapshot.split.size = 9"
    ) as small:
        engine = small.job.start()
        small.source(*(change(chosen) for _ in range(STATEMENTS)))
        small.wait(engine, lambda: rows(small, in_target=True) == rows(small, in_target=False), "the same rows")
        small.source(*(change(chosen) for _ in range(STATEMENTS)))
        small.wait(engine, lambda: rows(small, in_target=True) == rows(small, in_target=False), "the same rows")
        assert rows(small, in_target=True)
        small.source("UPDATE t SET region = 9")
        small.wait(engine, lambda: not rows(small, in_target=True), "no row")


def test_a_replica_identity_needs_the_columns_of_a_filter(tmp_path: Path) -> None:
    with small_job(DATABASES["postgres"](), tmp_path / "job", [TABLE], source_options=FILTER) as small:
        done = small.command("--check")
        assert done.returncode != 0
        said = " ".join((done.stdout + done.stderr).split())
        assert "its key and the columns of its filter (id, region, gone, total)" in said
        small.source("ALTER TABLE t REPLICA IDENTITY FULL", "INSERT INTO t (id, region, total) VALUES (1, 7, 1)")
        engine = small.job.start()
        small.wait(engine, lambda: [row[:2] for row in rows(small, in_target=True)] == ["(1"], "the row")
        small.source("ALTER TABLE t REPLICA IDENTITY DEFAULT", "UPDATE t SET region = 9")
        assert engine.wait(60) not in (0, 130)
        assert "a replica identity was changed" in " ".join(engine.output.split())


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("name = 'x'", "expected comparisons of a column with an integer"),
        ("name = 1", "only integers can be compared"),
        ("other = 1", "has no column 'other'"),
    ],
)
def test_other_filters_are_rejected(tmp_path: Path, condition: str, said: str) -> None:
    options = FILTER.replace(CONDITION, condition)
    with small_job(DATABASES["mariadb"](), tmp_path / "job", [TABLE], source_options=options) as small:
        done = small.command("--check")
        assert done.returncode != 0
        assert said in " ".join((done.stdout + done.stderr).split())
