"""A start that drops a pipeline, while the process before it still works in that pipeline."""

from pathlib import Path

import pytest

from seatunnel_core.connectors.filesystems.staged_name import staging_folder
from seatunnel_core.errors import UsageError
from seatunnel_core.job.restoring import Restore
from seatunnel_core.reporting.report import JobOutcome
from seatunnel_storage_api.errors import StaleEpochError
from tests.claiming.tables import FIRST, JOB, Played, meanwhile
from tests.runtime.ground import ALL, ROWS, committed, ground_in, run_through, until

DROP = Restore(allow_non_restored_state=True)


@pytest.fixture
def two(tmp_path: Path) -> Played:
    played = Played(tmp_path)
    played.begin("a", "b")
    for number, table in ((1, "a"), (2, "b")):
        played.store(2, 2, table=table, pipeline=number)
    return played


def stage(played: Played) -> Path:
    """Stage a unit in the second pipeline, and store a checkpoint that contains it. The process then dies."""
    folder = Path(staging_folder(str(played.folder / "out" / "b"), JOB, 2, FIRST))
    folder.mkdir(parents=True)
    staged = folder / f"{JOB}-p2-s0-o0-e{FIRST}-u1-a1-7-0.csv"
    staged.touch()
    played.store(3, 3, table="b", pipeline=2, uncommitted=1)
    return staged


@pytest.mark.parametrize("is_late", [False, True], ids=["before the claim", "after it"])
def test_a_pipeline_that_stages_rows_while_the_next_process_claims_the_job_is_not_dropped(
    two: Played, monkeypatch: pytest.MonkeyPatch, is_late: bool
) -> None:
    """That one had read that nothing is staged, and was suspended. No process published the rows any more, although
    they were read, and the job ended without an error."""
    before = two.manifest()
    meanwhile(two, monkeypatch, **{"after" if is_late else "before": lambda: stage(two)})
    with pytest.raises(UsageError, match="pipeline 2 has 1 file staged and not published yet"):
        two.restore(DROP, "a")
    assert two.manifest() == before, "rejected, and yet the next start takes the pipeline for dropped"
    assert "pipeline 2 has 1 file staged" in two.refusal(DROP, "a")
    claim = two.restore(Restore(), "a", "b")
    assert [each.id for each in claim.job.pipelines] == [1, 2]


def test_a_process_whose_pipeline_was_dropped_completes_no_checkpoint_of_it(two: Played) -> None:
    claim = two.restore(DROP, "a")
    assert {name for name, seat in two.manifest().seats.items() if seat.dropped} == {"b", "b_out"}
    with pytest.raises(StaleEpochError):
        stage(two)
    two.storage.acquire_epoch(JOB, 1, claim.epoch_minimum(0), below=claim.epoch_minimum(0) + FIRST)
    assert two.storage.get_manifest(JOB).version == claim.version  # type: ignore[union-attr]


def test_a_checkpoint_that_is_pruned_before_it_is_read_does_not_hide_what_is_staged(
    two: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process before stored the next one. An unreadable state alone does not prevent the drop."""
    with monkeypatch.context() as first:
        load = two.storage.load
        first.setattr(two.storage, "load", lambda info: None if info.checkpoint_id == 2 else load(info))
        meanwhile(two, monkeypatch, before=lambda: stage(two))
        with pytest.raises(UsageError, match="pipeline 2 has 1 file staged"):
            two.restore(DROP, "a")


@pytest.mark.parametrize("is_late", [False, True], ids=["before the epoch", "after it"])
def test_a_process_that_loses_the_job_before_it_drops_a_pipeline_says_so(
    two: Played, monkeypatch: pytest.MonkeyPatch, is_late: bool
) -> None:
    before = two.manifest()

    def take_over() -> None:
        two.write()
        if not is_late:
            two.storage.acquire_epoch(JOB, 2, 3 * FIRST)

    if is_late:
        acquire = two.storage.acquire_epoch

        def acquired(job_id: str, pipeline_id: int, minimum: int, below: int | None = None) -> int:
            monkeypatch.undo()
            epoch = acquire(job_id, pipeline_id, minimum, below)
            take_over()
            return epoch

        monkeypatch.setattr(two.storage, "acquire_epoch", acquired)
    else:
        meanwhile(two, monkeypatch, after=take_over)
    with pytest.raises(UsageError, match="another process has just started the job"):
        two.restore(DROP, "a")
    assert two.manifest() == before


def test_a_job_without_one_of_its_pipelines_takes_a_savepoint_and_ends(tmp_path: Path) -> None:
    """It claims the job twice, so its later manifests have a version more."""
    with ground_in(tmp_path) as ground:
        ground.work.mkdir()
        with ground.run(ground.tables("a", "b")) as first:
            first.start()
            until(lambda: committed(first) > 0, first)
            first.savepoint(stop=True)
            first.wait()
        with ground.run(ground.tables("a", rows_per_second=100), restore=DROP) as second:
            second.start()
            second.savepoint()
            until(lambda: committed(second) > 0, second)
            second.savepoint(stop=True)
            second.wait()
        report, _ = run_through(ground.run(ground.tables("a", rows_per_second=None), restore=Restore()))
        assert report.outcome is JobOutcome.FINISHED, report
        assert sorted(ground.rows("a")) == ALL
        assert len(ground.rows("b")) < ROWS
