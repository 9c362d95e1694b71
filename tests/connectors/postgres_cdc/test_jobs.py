"""Whole jobs from PostgreSQL to PostgreSQL while clients write: the target is the source, row by row."""

import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import frozen

from seatunnel_core.connectors.postgres_cdc import range_reading, seen, source
from seatunnel_core.connectors.postgres_cdc.chunk_reading import chunk_rows
from seatunnel_core.connectors.postgres_log.lsn import Lsn
from seatunnel_core.job.restoring import Restore
from seatunnel_core.reporting.report import JobOutcome
from seatunnel_core.runtime.job_run import JobRun
from tests.cdc.captured import COPY, CapturedPostgres
from tests.cdc.comparison import difference
from tests.cdc.storm import Storm, wait_until
from tests.cdc.watcher import beacon_arrived, snapshot_arrived
from tests.connectors.postgres_cdc.storms import postgres_storm
from tests.runtime.ground import OLD, Ground, ground_in

pytestmark = [pytest.mark.servers, pytest.mark.spark, pytest.mark.timeout(600)]
SOURCE = "cdc_jobs"
WAIT_S = 180
IN_USE = f"SELECT 1 FROM pg_replication_slots WHERE slot_name = '{SOURCE}' AND active"
GONE = "00000099-00000099-9"
"""Name of a snapshot that does not exist."""


@pytest.fixture
def storm() -> Iterator[Storm]:
    with postgres_storm(SOURCE, rows=2_000, per_second=400) as made:
        yield made


def text(storm: Storm, more: str) -> str:
    source = storm.captured.source_block(SOURCE, storm.tables, SOURCE, more)
    env = "job.mode = STREAMING, parallelism = 2, checkpoint.interval = 200"
    return f"env {{ {env} }}\nsource {{{source}\n}}\nsink {{{storm.captured.sink_block(COPY)}\n}}\n"


def differences(storm: Storm) -> str:
    return "\n".join(filter(None, (difference(storm.captured, SOURCE, COPY, table) for table in storm.tables)))


def arrives(storm: Storm, run: JobRun, number: int) -> None:
    """Wait until what was written before is in the target."""
    storm.light_beacon(number)
    wait_until(lambda: beacon_arrived(storm, COPY, number) or run.wait(0.01), WAIT_S, f"beacon {number}")
    assert run.wait(0.01) is None, run.wait(0.01)


def play(storm: Storm, ground: Ground) -> str:
    """Copy the database during a storm; return what differs at the end."""
    with ground.run(text(storm, "snapshot.split.size = 50")) as run:
        storm.begin()
        run.start()
        wait_until(lambda: snapshot_arrived(storm, COPY) or run.wait(0.01), WAIT_S, "the snapshot")
        arrives(storm, run, 1)
        before = storm.committed
        wait_until(lambda: storm.committed > before + 100 or storm.errors, WAIT_S, "more transactions")
        storm.end()
        arrives(storm, run, 2)
        run.kill()
    return differences(storm)


def test_a_quiet_database_is_copied_and_the_job_ends(storm: Storm, tmp_path: Path) -> None:
    with ground_in(tmp_path) as ground, ground.run(text(storm, "stop.mode = latest")) as run:
        run.start()
        report = run.wait(WAIT_S)
        assert report is not None
        assert report.outcome is JobOutcome.FINISHED, report
    assert differences(storm) == ""


def test_only_the_tables_are_read(storm: Storm, tmp_path: Path) -> None:
    """Neither a slot nor a publication is needed."""
    with ground_in(tmp_path) as ground, ground.run(text(storm, "startup.mode = snapshot-only")) as run:
        run.start()
        report = run.wait(WAIT_S)
        assert report is not None
        assert report.outcome is JobOutcome.FINISHED, report
    assert differences(storm) == ""
    assert storm.captured.run(SOURCE, f"SELECT 1 FROM pg_replication_slots WHERE slot_name = '{SOURCE}'") == []
    assert storm.captured.run(SOURCE, "SELECT 1 FROM pg_publication") == []


def test_the_tables_are_filtered_as_the_publication_filters_the_log(storm: Storm, tmp_path: Path) -> None:
    captured = storm.captured
    captured.run(SOURCE, "CREATE PUBLICATION few FOR TABLE credit (id, amount) WHERE (id < 500000)")
    made = text(storm, "publication.name = few").replace(f', "{SOURCE}.public.debit", "{SOURCE}.public.beacon"', "")
    with ground_in(tmp_path) as ground, ground.run(made) as run:
        run.start()
        wait_until(lambda: _has_table() or run.wait(0.01), WAIT_S, "the snapshot")
        captured.run(SOURCE, "INSERT INTO credit (id, amount, note) VALUES (499999, 1, 'x'), (999999, 2, 'x')")
        captured.run(
            SOURCE, "UPDATE credit SET id = id + 500000 WHERE id = 3", "UPDATE credit SET amount = 5 WHERE id = 4"
        )
        captured.run(SOURCE, "INSERT INTO credit (id, amount) VALUES (-1, 0)")
        arrived = "SELECT id FROM credit WHERE id = -1"
        wait_until(lambda: captured.run(COPY, arrived) or run.wait(0.01), WAIT_S, "the last row")
        run.kill()
    found = captured.run(COPY, "SELECT * FROM credit ORDER BY id")
    assert found == captured.run(SOURCE, "SELECT id, amount FROM credit WHERE id < 500000 ORDER BY id")


def _has_table() -> bool:
    return bool(CapturedPostgres().run(COPY, "SELECT 1 FROM pg_stat_user_tables WHERE n_tup_ins > 100"))


def test_a_storm_loses_and_repeats_nothing(storm: Storm, tmp_path: Path) -> None:
    with ground_in(tmp_path) as ground:
        assert play(storm, ground) == ""


def test_each_chunk_may_have_its_own_snapshot(storm: Storm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after restarts of the driver: rows are compared with the mark of the chunk that has their key."""
    monkeypatch.setattr(source, "chunk_rows", lambda *given: chunk_rows(given[0], given[1], given[2], GONE, given[4]))
    with ground_in(tmp_path) as ground:
        assert play(storm, ground) == ""


@frozen
class PositionMark:
    """What other tools use: a position of the log that was read before the chunk."""

    position: int

    @classmethod
    def parse(cls, written: str) -> "PositionMark":
        return cls(Lsn.parse(written).value)

    def contain(self, positions: Any) -> Any:
        return positions < self.position


def _positions(batch: Any, changes: Any) -> Any:
    numbers = np.array([each.number for each in batch.transactions])
    commits = np.array([each.commit_position for each in batch.transactions], np.uint64)
    return commits[np.searchsorted(numbers, changes.transactions)]


def _read(rows: Generator[Any, None, str]) -> tuple[list[Any], str]:
    """Return all rows of a chunk, and its mark."""
    marks: list[str] = []

    def marked() -> Iterator[Any]:
        marks.append((yield from rows))

    return [*marked()], marks[0]


def _commit_waits(storm: Storm) -> bool:
    """Return True if a commit in the source waits; commits of the sink may wait, too."""
    waits = f"SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND datname = '{SOURCE}'"
    return bool(storm.captured.run(SOURCE, waits))


@pytest.mark.parametrize("by_position", [False, True])
def test_a_commit_that_is_logged_and_not_visible_yet_is_not_lost(
    storm: Storm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_position: bool
) -> None:
    """With synchronous replication a commit is in the log for long before others see it. A position as the mark of a
    chunk loses it."""
    captured = storm.captured

    def set_standby(name: str) -> None:
        captured.run(SOURCE, f"ALTER SYSTEM SET synchronous_standby_names = '{name}'", "SELECT pg_reload_conf()")

    def rows(dialect: Any, found: Any, body: Any, snapshot: str, oid: int) -> Generator[Any, None, str]:
        if "credit" not in body["table"]:
            position, (read, mark) = "0/0", _read(chunk_rows(dialect, found, body, snapshot, oid))
        else:
            insert = "INSERT INTO credit (id, amount) VALUES (2000000000, 0)"
            writer = threading.Thread(target=captured.run, args=(SOURCE, insert))
            set_standby("nobody")
            try:
                writer.start()
                wait_until(lambda: _commit_waits(storm), WAIT_S, "a commit that waits")
                position = captured.run(SOURCE, "SELECT pg_current_wal_flush_lsn()::text")[0][0]
                read, mark = _read(chunk_rows(dialect, found, body, GONE, oid))
            finally:
                set_standby("")
                writer.join()
        yield from read
        return position if by_position else mark

    monkeypatch.setattr(source, "chunk_rows", rows)
    if by_position:
        monkeypatch.setattr(seen, "SnapshotMark", PositionMark)
        monkeypatch.setattr(range_reading, "_xids", _positions)
    with ground_in(tmp_path) as ground, ground.run(text(storm, "")) as run:
        run.start()
        wait_until(lambda: snapshot_arrived(storm, COPY) or run.wait(0.01), WAIT_S, "the snapshot")
        arrives(storm, run, 1)
        run.kill()
    assert ("1 missing, 0 extra" in differences(storm)) is by_position


def test_a_job_continues_after_kills_and_a_savepoint(storm: Storm, tmp_path: Path) -> None:
    with ground_in(tmp_path) as ground:
        made = text(storm, "snapshot.split.size = 20")
        storm.begin()
        for number in range(4):
            with ground.run(made, restore=Restore() if number else None) as run:
                run.start()
                if number:
                    arrives(storm, run, number)
                else:
                    wait_until(lambda: _some_rows(storm) or run.wait(0.01), WAIT_S, "rows")
                if number == 2:
                    run.savepoint("stop", stop=True, timeout=WAIT_S)
                    assert run.wait(WAIT_S) is not None
                elif number < 3:
                    run.kill()
                    assert run.wait(WAIT_S) is not None
                else:
                    storm.end()
                    arrives(storm, run, number + 1)
                    run.kill()
        assert differences(storm) == ""


def _some_rows(storm: Storm) -> bool:
    found = storm.captured.run(COPY, "SELECT count(*) FROM pg_stat_user_tables WHERE n_tup_ins > 0")
    return bool(found[0][0])


@contextmanager
def running(storm: Storm, ground: Ground, more: str = "") -> Iterator[JobRun]:
    with ground.run(text(storm, more), job_id=OLD) as run:
        run.start()
        wait_until(lambda: snapshot_arrived(storm, COPY) or run.wait(0.01), WAIT_S, "the snapshot")
        arrives(storm, run, 1)
        yield run


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("TRUNCATE credit", "TRUNCATE of cdc_jobs.public.credit at the log position"),
        ("ALTER TABLE credit ADD COLUMN more int", "cdc_jobs.public.credit have changed: more was added"),
        (f"SELECT pg_drop_replication_slot('{SOURCE}')", f"the replication slot {SOURCE} does not exist"),
        (
            f"SELECT pg_replication_slot_advance('{SOURCE}', pg_current_wal_lsn())",
            f"the replication slot {SOURCE} was confirmed up to",
        ),
    ],
)
def test_what_cannot_be_followed_stops_the_job_by_name(
    storm: Storm, tmp_path: Path, statement: str, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    with ground_in(tmp_path) as ground:
        with running(storm, ground) as run:
            if statement.startswith("SELECT"):  # the slot is free only between two jobs
                run.kill()
                run.wait(WAIT_S)
                storm.light_beacon(2)
                wait_until(lambda: not storm.captured.run(SOURCE, IN_USE), WAIT_S, "a task releases the slot")
                storm.captured.run(SOURCE, statement)
            else:
                storm.captured.run(SOURCE, statement, "INSERT INTO credit (id, amount) VALUES (1000000000, 0)")
                _require_failure(run)
                assert message in caplog.text
                return
        with ground.run(text(storm, ""), restore=Restore()) as run:
            run.start()
            _require_failure(run)
    assert message in caplog.text


def _require_failure(run: JobRun) -> None:
    report = run.wait(WAIT_S)
    assert report is not None
    assert report.outcome is JobOutcome.FAILED


def test_an_idle_table_does_not_keep_the_log(storm: Storm, tmp_path: Path) -> None:
    """Transactions of other tables move the slot."""
    asked = f"SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = '{SOURCE}'"
    with ground_in(tmp_path) as ground, running(storm, ground) as run:
        storm.captured.run(SOURCE, "CREATE TABLE other (id int)")
        before = storm.captured.run(SOURCE, asked)[0][0]
        deadline = []

        def moved() -> bool:
            storm.captured.run(SOURCE, "INSERT INTO other VALUES (1)")
            deadline.append(storm.captured.run(SOURCE, asked)[0][0])
            return deadline[-1] != before

        wait_until(lambda: moved() or run.wait(0.1), WAIT_S, "the slot")
        run.kill()
