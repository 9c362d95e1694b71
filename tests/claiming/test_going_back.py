"""Going back to what is kept: whatever was swept, forgotten or pruned since, the job can be gone on with."""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.checkpoint.state import codec
from seatunnel_core.checkpoint.state.vertex_state import VertexStates
from seatunnel_core.job.restoring import ChosenCheckpoint, Restore
from seatunnel_core.planning.plan import PlannedPipeline
from seatunnel_core.reporting.report import JobOutcome
from seatunnel_core.runtime.pipeline_io import PipelineIO
from seatunnel_storage_api import lineage
from seatunnel_storage_api.discovery import open_storage
from seatunnel_storage_api.errors import CheckpointStorageError
from seatunnel_storage_api.memory import MemoryStorage
from seatunnel_storage_api.state import CheckpointRef
from seatunnel_storage_api.storage import CheckpointStorage
from seatunnel_storage_api.testing.given import checkpoint
from tests.runtime import command
from tests.runtime.command import fake_source, job
from tests.runtime.ground import ALL, OLD, ROWS, WAIT_S, Ground, committed, ground_in, kill, run_through, until

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    with ground_in(tmp_path) as made:
        yield made


def storage(ground: Ground) -> CheckpointStorage:
    return open_storage("hdfs", {"namespace": f"{ground.work}/state/"})


def retaining(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = command._ENGINE.replace("max-retained: 3", f"max-retained: {number}")
    monkeypatch.setattr(command, "_ENGINE", engine)


def into_sqlite(ground: Ground) -> str:
    env = "job.mode = BATCH, checkpoint.interval = 40, job.retry.times = 0, read_limit.rows_per_second = 400"
    sink = f"""
  Jdbc {{ plugin_input = [a], url = "jdbc:sqlite:{ground.work}/target.db", generate_sink_sql = true, table = t,
    is_exactly_once = true }}"""
    return job(env, [fake_source("a", rows=ROWS, splits=20)], [sink])


def rows_of(ground: Ground) -> Counter[int]:
    with closing(sqlite3.connect(ground.work / "target.db")) as database:
        return Counter(number for (number,) in database.execute("SELECT id FROM t"))


def naming_what_is_committed(ground: Ground) -> CheckpointRef:
    """A live checkpoint of the first epoch that names committables, all of them committed since."""
    with storage(ground) as stored:
        infos = stored.list_checkpoints(OLD, 1)
        for info in infos:
            state = stored.load(info) if info.ref in lineage.live(infos) else None
            if state is not None and any(codec.decode(state.states).committables()):
                return info.ref
    raise AssertionError("no checkpoint names a committable")


def begin_and_kill(ground: Ground, text: str, rows: int, restore: Restore | None = None) -> None:
    """Kill it when so many rows were committed, what was restored not counted."""
    with ground.run(text, restore=restore) as run:
        run.start()
        until(lambda: restore is None or committed(run) > 0, run)
        before = committed(run)
        until(lambda: committed(run) >= before + rows, run)
        kill(run)


def test_a_database_remembers_what_any_live_checkpoint_names(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """The start after a kill forgot all commits but those that its own base named. To go back further was allowed, and
    then neither that nor any later start found out that what the older checkpoint names was committed."""
    retaining(50, monkeypatch)
    text = into_sqlite(ground)
    ground.work.mkdir()
    begin_and_kill(ground, text, ROWS // 5)
    begin_and_kill(ground, text, ROWS // 10, Restore())
    ref = naming_what_is_committed(ground)
    back = Restore(checkpoints=(ChosenCheckpoint.parse(str(ref)),), accept_duplicates=True)
    report, _ = run_through(ground.run(text, restore=back))
    assert report.outcome is JobOutcome.FINISHED, report
    assert sorted(rows_of(ground)) == ALL


@pytest.mark.parametrize("how", ["retract", "accept_duplicates"])
def test_a_savepoint_can_be_restored_after_any_number_of_starts(
    ground: Ground, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After two starts all checkpoints between were pruned, and what leads to the savepoint with them: it was void."""
    retaining(1, monkeypatch)
    text = ground.tables("a")
    ground.work.mkdir()
    with ground.run(text) as first:
        first.start()
        until(lambda: committed(first) >= ROWS // 10, first)
        first.savepoint("before-upgrade", timeout=WAIT_S)
        kill(first)
    for _ in range(2):
        begin_and_kill(ground, text, ROWS // 20, Restore())
    restore = Restore(savepoint="before-upgrade", **{how: True})  # type: ignore[arg-type]
    report, said = run_through(ground.run(text, restore=restore))
    assert report.outcome is JobOutcome.FINISHED, report
    assert any("is restored from" in sentence for sentence in said)
    rows = ground.rows("a")
    assert sorted(set(rows)) == ALL
    assert len(rows) == ROWS if how == "retract" else len(rows) > ROWS


# -- checkpoints that somebody removed


def remove_newest(ground: Ground, but: int) -> list[CheckpointRef]:
    """Leave ``but`` of the pipeline's checkpoints; returns those that are left."""
    with storage(ground) as stored:
        refs = [info.ref for info in stored.list_checkpoints(OLD, 1)]
        stored.delete_checkpoints(OLD, 1, refs[but:])
    return refs[:but]


@pytest.mark.parametrize("target", ["files", "sqlite"])
@pytest.mark.parametrize("left", [1, 0])
def test_checkpoints_that_somebody_removed_are_missed(
    ground: Ground, target: str, left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job went on from what was left, and published again what it had published since, with exit code 0."""
    retaining(50, monkeypatch)  # or, on a busy machine, nothing was published since
    text = ground.tables("a") if target == "files" else into_sqlite(ground)
    ground.work.mkdir()
    begin_and_kill(ground, text, ROWS // 5)
    kept = remove_newest(ground, left)
    for _ in range(2):  # a start that is refused leaves nothing behind that would make the next one believe it
        report, _ = run_through(ground.run(text, restore=Restore()))
        assert report.outcome is JobOutcome.FAILED
        (view,) = report.pipelines
        assert (
            "newer checkpoints existed and were removed. The rows of these units would be published twice"
            in view.failure
        )
    if not left:
        assert "has no checkpoint" in view.failure
        return
    assert f"-r {OLD} --restore-with-checkpoint {kept[0]} --retract" in view.failure
    how: dict[str, Any] = {"retract": True} if target == "files" else {"accept_duplicates": True}
    back = Restore(checkpoints=(ChosenCheckpoint.parse(str(kept[0])),), **how)
    report, _ = run_through(ground.run(text, restore=back))
    assert report.outcome is JobOutcome.FINISHED, report
    if target == "files":
        assert ground.rows("a") == ALL
    else:
        assert sorted(rows_of(ground)) == ALL


NAMED = ", custom_filename = true, file_name_expression = "


@pytest.mark.parametrize(
    ("then", "now"),
    [
        (NAMED + '"part-${transactionId}"', ""),
        ("", NAMED + '"${transactionId}-part"'),
        (NAMED + '"x${now}-${transactionId}"', NAMED + '"x${now}-${transactionId}", filename_time_format = "yyyy.MM"'),
    ],
)
def test_they_are_missed_although_files_are_named_otherwise_since(
    ground: Ground, then: str, now: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was published was looked for by the names of today, and came twice."""
    retaining(50, monkeypatch)
    text = ground.tables("a")
    ground.work.mkdir()
    begin_and_kill(ground, text.replace("parquet", f"parquet{then}"), ROWS // 5)
    remove_newest(ground, 1)
    for _ in range(2):
        report, _ = run_through(ground.run(text.replace("parquet", f"parquet{now}"), restore=Restore()))
        assert report.outcome is JobOutcome.FAILED, f"{len(ground.rows('a'))} rows of {ROWS}"
        assert "newer checkpoints existed and were removed" in report.pipelines[0].failure


def test_they_are_missed_although_the_sink_does_not_stage_any_more(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A base in which nothing waits fits to ``is_exactly_once = false``, and the table of commits was not asked."""
    retaining(50, monkeypatch)
    text = into_sqlite(ground)
    ground.work.mkdir()
    begin_and_kill(ground, text, ROWS // 5)
    with storage(ground) as stored:
        infos = stored.list_checkpoints(OLD, 1)
        first = stored.load(infos[0])
        assert first is not None
        states = codec.decode(first.states)
        emptied = evolve(first, states=codec.encode(states.without_staged()))
        stored.delete_checkpoints(OLD, 1, [info.ref for info in infos])
        stored.store_checkpoint(emptied)
    at_once = text.replace("is_exactly_once = true", "is_exactly_once = false")
    report, _ = run_through(ground.run(at_once, restore=Restore()))
    assert report.outcome is JobOutcome.FAILED, f"{rows_of(ground).total()} rows of {ROWS}"
    assert "newer checkpoints existed and were removed" in report.pipelines[0].failure


def test_a_restart_in_the_same_process_misses_what_it_has_stored_itself(tmp_path: Path) -> None:
    work = PipelineIO(
        job_id=OLD,
        planned=PlannedPipeline(id=1, sources=(), transforms=(), sinks=()),
        storage=MemoryStorage(),
        backend=None,  # type: ignore[arg-type]
        shares_disk=True,
    )
    assert work.claim_epoch(1) == 1
    for number in (1, 2):
        work.store(evolve(checkpoint(1, number), job_id=OLD), VertexStates())
    work.storage.delete_checkpoint(OLD, 1, 2)
    removed = "checkpoint 1-2 of pipeline 1, which this process stored, was removed"
    with pytest.raises(CheckpointStorageError, match=removed):
        work.list_checkpoints()
