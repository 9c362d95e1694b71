"""Logs that the server no longer has, and slots that somebody changed: an error by name, never a gap."""

import re
from pathlib import Path

import pytest

from tests.cdc.captured import DATABASES, EACH_KIND
from tests.cdc.small_job import SmallJob, small_job
from tests.server.nodes import until

pytestmark = [pytest.mark.spark, pytest.mark.servers, pytest.mark.timeout(300)]

TABLE = ("CREATE TABLE t (id int PRIMARY KEY, amount int)", "INSERT INTO t VALUES (1, 1), (2, 2)")
SLOT = "FROM pg_replication_slots WHERE slot_name = 'small'"


def stopped(small: SmallJob) -> None:
    """Let the job copy the table, and stop it."""
    small.begin()
    assert small.job.stop(60) == 130


def refused(small: SmallJob, *said: str) -> None:
    """Resume the job, which must fail and say why, and must not change the target."""
    before = small.target("SELECT * FROM t ORDER BY id")
    engine = small.job.start()
    assert engine.wait(120) not in (0, 130), engine.output
    for each in said:
        assert each in engine.output, engine.output[-4000:]
    assert small.target("SELECT * FROM t ORDER BY id") == before


@pytest.mark.parametrize("change", ["advance", "drop", "create again"])
def test_a_slot_that_somebody_changed_is_an_error(tmp_path: Path, change: str) -> None:
    """Test 3 of the design."""
    with small_job(DATABASES["postgres"](), tmp_path / "job", TABLE) as small:
        stopped(small)
        until("the server has seen the end of its reader", lambda: not small.source(f"SELECT 1 {SLOT} AND active"))
        small.source("INSERT INTO t VALUES (3, 3)")
        if change == "advance":
            small.source(f"SELECT pg_replication_slot_advance(slot_name, pg_current_wal_lsn()) {SLOT}")
        else:
            small.source(f"SELECT pg_drop_replication_slot(slot_name) {SLOT}")
        if change == "create again":
            small.source("SELECT pg_create_logical_replication_slot('small', 'pgoutput')")
        refused(small, "slot small")


@pytest.mark.parametrize("database", [each for each in EACH_KIND if each.values != ("postgres",)])
def test_a_purged_log_is_an_error(tmp_path: Path, database: str) -> None:
    """Test 4 of the design."""
    with small_job(DATABASES[database](), tmp_path / "job", TABLE) as small:
        stopped(small)
        small.source("INSERT INTO t VALUES (3, 3)")
        oldest = small.source("SHOW BINARY LOGS")[0][0]

        def removed() -> bool:
            """MariaDB keeps a file until InnoDB has written what is in it."""
            small.source("FLUSH BINARY LOGS", "FLUSH BINARY LOGS")
            newest = small.source("SHOW BINARY LOGS")[-1][0]
            small.source(f"PURGE BINARY LOGS TO '{newest}'")
            return bool(small.source("SHOW BINARY LOGS")[0][0] != oldest)

        until("the log is removed", removed)
        refused(small, "no longer has", "changes are lost")


def test_idle_tables_do_not_hold_back_the_log(tmp_path: Path) -> None:
    """Test 5 of the design: another table is busy, and the slot moves."""
    with small_job(DATABASES["postgres"](), tmp_path / "job", TABLE) as small:
        engine = small.begin()
        small.source("CREATE TABLE busy (id int)")
        begun = small.source(f"SELECT pg_current_wal_lsn() - '0/0', confirmed_flush_lsn - '0/0' {SLOT}")[0][0]

        def moved() -> bool:
            small.source("INSERT INTO busy SELECT generate_series(1, 1000)", "CHECKPOINT")
            ((confirmed, restart),) = small.source(f"SELECT confirmed_flush_lsn - '0/0', restart_lsn - '0/0' {SLOT}")
            return bool(confirmed > begun and restart > begun)

        small.wait(engine, moved, "the slot moves")


def test_two_jobs_on_one_slot(tmp_path: Path) -> None:
    """Test 17 of the design: the second one is refused and names the first one, which continues."""
    with small_job(DATABASES["postgres"](), tmp_path / "job", TABLE) as small:
        engine = small.begin()
        text = (small.folder / "job.conf").read_text("utf-8").replace("/copy", "/postgres")
        (small.folder / "job.conf").write_text(text, "utf-8")
        done = small.command("-n", "second", "--set-job-id", "second")
        assert done.returncode not in (0, 130)
        said = done.stdout + done.stderr
        assert re.search(r"slot small is used by process \d+ of the server \(application_name 'seatunnel ", said), said
        assert f"'seatunnel {small.id}'" in said
        small.source("INSERT INTO t VALUES (3, 3)")
        small.wait_until_equal(engine)


def test_an_older_checkpoint_than_the_slot_is_refused(tmp_path: Path) -> None:
    """Test 24 of the design: the slot cannot go back behind what a later checkpoint has confirmed."""
    with small_job(DATABASES["postgres"](), tmp_path / "job", TABLE) as small:
        small.begin()
        saved = small.command("-s", small.id, "--savepoint-name", "base")
        assert saved.returncode == 0, saved.stdout + saved.stderr
        small.job.engines[-1].wait(60)
        engine = small.begin()
        small.source("INSERT INTO t VALUES (3, 3)")
        ((behind,),) = small.source("SELECT pg_current_wal_lsn() - '0/0'")
        small.wait_until_equal(engine)

        def confirmed() -> bool:
            return bool(small.source(f"SELECT confirmed_flush_lsn - '0/0' {SLOT}")[0][0] >= behind)

        small.wait(engine, confirmed, "the confirmation of a position behind the savepoint")
        assert small.job.stop(60) == 130
        older = ("-r", small.id, "--restore-with-savepoint", "base", "--accept-duplicates")
        done = small.command(*older)
        assert done.returncode not in (0, 130)
        assert "slot small" in done.stdout + done.stderr
        assert small.equal()
        small.source("INSERT INTO t VALUES (4, 4)")
        small.begin()  # the newest checkpoint is still there


def test_a_copy_that_the_slot_has_passed_is_refused(tmp_path: Path) -> None:
    """The slot belongs to the job that continues, and the copy does not end its sessions."""
    direct = "is_exactly_once = false"  # otherwise the sink refuses the copy, because its target has later rows
    with small_job(DATABASES["postgres"](), tmp_path / "job", TABLE, sink_options=direct) as small:
        engine = small.begin()
        config = small.folder / "seatunnel.yaml"
        other = small.folder / "other.yaml"
        other.write_text(config.read_text("utf-8").replace("/state/", "/copy/"), "utf-8")
        done = small.command("checkpoints", "copy", "--from", str(config), "--to", str(other))
        assert done.returncode == 0, done.stdout + done.stderr
        small.source("INSERT INTO t VALUES (3, 3)")
        ((behind,),) = small.source("SELECT pg_current_wal_lsn() - '0/0'")
        small.wait_until_equal(engine)

        def confirmed() -> bool:
            return bool(small.source(f"SELECT confirmed_flush_lsn - '0/0' {SLOT}")[0][0] >= behind)

        small.wait(engine, confirmed, "the confirmation of a position behind the copy")
        done = small.command("-r", small.id, engine_config=other)
        said = " ".join((done.stdout + done.stderr).split())
        assert done.returncode not in (0, 130), said
        assert "a copy of the job in another storage, is older than the oldest retained checkpoint" in said, said
        small.source("INSERT INTO t VALUES (4, 4)")
        small.wait_until_equal(engine)
