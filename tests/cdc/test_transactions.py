"""Transactions and keys: what the target shows of them, and at which point a job ends."""

from pathlib import Path

import pytest

from tests.cdc.captured import DATABASES, EACH_KIND, Captured
from tests.cdc.small_job import small_job

pytestmark = [pytest.mark.spark, pytest.mark.servers, pytest.mark.timeout(300)]

MANY = 120_000


@pytest.fixture(params=EACH_KIND)
def captured(request: pytest.FixtureRequest) -> Captured:
    return DATABASES[request.param]()


def numbers(captured: Captured, most: int) -> str:
    """Return a query for the numbers from 1 on."""
    if captured.name == "postgres":
        return f"SELECT n, n FROM generate_series(1, {most}) AS n"
    digits = "(SELECT 0 AS d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 "
    digits += "UNION SELECT 7 UNION SELECT 8 UNION SELECT 9)"
    power = [f"{10**each} * t{each}.d" for each in range(6)]
    tables = " CROSS JOIN ".join(f"{digits} AS t{each}" for each in range(6))
    return f"SELECT n, n FROM (SELECT 1 + {' + '.join(power)} AS n FROM {tables}) AS every WHERE n <= {most}"


def test_transactions_are_whole_at_the_target_and_keys_may_change(captured: Captured, tmp_path: Path) -> None:
    """Tests 6, 8 and 11 of the design: a large transaction over two tables lasts longer than checkpoints."""
    table = "(id bigint PRIMARY KEY, amount bigint)"
    definitions = [f"CREATE TABLE credit {table}", f"CREATE TABLE debit {table}", "INSERT INTO credit VALUES (-1, 0)"]
    with small_job(captured, tmp_path / "job", definitions) as small:
        engine = small.begin()
        seen = set()

        def arrived() -> bool:
            ((there,),) = small.target("SELECT (SELECT count(*) FROM credit) - 1 - (SELECT count(*) FROM debit)")
            ((rows,),) = small.target("SELECT count(*) FROM credit")
            seen.add((int(there), int(rows)))
            return int(rows) == MANY + 1

        insert = numbers(captured, MANY)
        small.source("BEGIN", f"INSERT INTO credit {insert}", f"INSERT INTO debit {insert}", "COMMIT")
        small.wait(engine, arrived, "the large transaction has arrived")
        assert seen <= {(0, 1), (0, MANY + 1)}
        small.source(
            "BEGIN",
            "UPDATE credit SET id = id + 1000000 WHERE id <= 2000",  # each key leaves its chunk
            "UPDATE credit SET id = id - 1000000 WHERE id > 1000000 AND id <= 1001000",  # and half of them return
            "DELETE FROM debit WHERE id <= 1000",
            "INSERT INTO debit VALUES (5, 1)",
            "COMMIT",
            "UPDATE debit SET id = -5 WHERE id = 5",
        )
        small.wait_until_equal(engine)
        assert small.job.stop(60) == 130


def test_a_job_ends_with_all_that_is_in_the_log(captured: Captured, tmp_path: Path) -> None:
    """Test 23 of the design."""
    definitions = ["CREATE TABLE t (id bigint PRIMARY KEY, amount bigint)", f"INSERT INTO t {numbers(captured, 5000)}"]
    options = "stop.mode = latest, snapshot.split.size = 500"
    with small_job(captured, tmp_path / "job", definitions, source_options=options) as small:
        small.source("UPDATE t SET amount = 0 WHERE id <= 100", "DELETE FROM t WHERE id = 7")
        engine = small.job.start()
        assert engine.wait(120) == 0, engine.output
        assert small.equal()


def test_a_table_without_a_key_is_refused_by_name(captured: Captured, tmp_path: Path) -> None:
    """Test 10 of the design: by ``--check``, and before anything is created."""
    definitions = ["CREATE TABLE keyed (id int PRIMARY KEY)", "CREATE TABLE bare (id int)"]
    with small_job(captured, tmp_path / "job", definitions) as small:
        for more in (["--check"], []):
            done = small.command(*more)
            assert done.returncode != 0
            assert "public.bare" in done.stdout + done.stderr or "small.bare" in done.stdout + done.stderr
            assert "key" in done.stdout + done.stderr
        assert small.captured.name != "postgres" or not small.source("SELECT 1 FROM pg_replication_slots")
