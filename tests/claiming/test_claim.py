"""Whose job it is: the first process, the next one, and the one that comes too late."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from seatunnel_storage_hdfs.factory import HdfsStorageFactory

from seatunnel_core.claiming.claim import EPOCHS_PER_VERSION, Claim, claim_again, claim_epoch, claim_new
from seatunnel_core.config.option import Options
from seatunnel_core.errors import UsageError
from seatunnel_core.job.manifest import Manifest
from seatunnel_core.planning.plan import PlannedJob
from seatunnel_core.reporting.report import JobOutcome, JobReport
from seatunnel_core.reporting.report_record import report_record
from seatunnel_storage_api.errors import ManifestConflictError, StaleEpochError
from seatunnel_storage_api.memory import MemoryStorage
from seatunnel_storage_api.storage import CheckpointStorage
from seatunnel_storage_api.testing.given import checkpoint


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[CheckpointStorage]:
    with HdfsStorageFactory().create({"namespace": f"{tmp_path}/"}) as opened:
        yield opened


def plan(manifest: Manifest | None) -> PlannedJob:
    return PlannedJob(
        name="job",
        mode="BATCH",
        env=Options({}, ()),
        spark_options={},
        storage=None,  # type: ignore[arg-type]  # a claim does not look at it
        pipelines=(),
        manifest=manifest or Manifest(job_name="job"),
    )


def test_first_process_writes_the_first_version(storage: CheckpointStorage) -> None:
    claim = claim_new(storage, "j", plan)
    assert claim.version == 1
    stored = storage.get_manifest("j")
    assert stored is not None
    assert stored.version == 1


def test_id_that_exists_is_refused(storage: CheckpointStorage) -> None:
    claim_new(storage, "j", plan)
    with pytest.raises(UsageError, match=r"the job j exists already: resume it with `-r j`"):
        claim_new(storage, "j", plan)


def test_the_first_claim_names_the_submission_and_later_ones_keep_it(storage: CheckpointStorage) -> None:
    claim_new(storage, "cluster", plan, submission="s1")
    claim_again(storage, "cluster", plan)
    claim_new(storage, "command", plan)
    found = [storage.get_manifest(job_id) for job_id in ("cluster", "command")]
    assert [each and Manifest.from_bytes(each.body).submission for each in found] == ["s1", ""]


def test_a_claim_that_came_second_is_a_conflict(storage: CheckpointStorage) -> None:
    """Its job failed for good, although an earlier attempt had only been faster than the planning of this one."""
    claim_new(storage, "j", plan)
    with pytest.raises(UsageError) as failed:
        claim_new(storage, "j", plan)
    assert isinstance(failed.value.__cause__, ManifestConflictError)


def test_the_id_of_a_deleted_job_is_used_again(storage: CheckpointStorage) -> None:
    """The job had been resumed, so its newest marker, which outlives it, was above all epochs of a first process: the
    new job was told at once that another engine runs it."""
    claim_new(storage, "j", plan)
    later = claim_again(storage, "j", plan)
    assert isinstance(later, Claim)
    claim_epoch(storage, "j", 1, later.epoch_minimum(0))
    storage.delete_job("j")
    again = claim_new(storage, "j", plan)
    assert claim_epoch(storage, "j", 1, again.epoch_minimum(0)) == again.epoch_minimum(0)
    with pytest.raises(UsageError, match="exists already"):
        claim_new(storage, "j", plan)


def test_a_new_job_does_not_start_from_what_something_else_left_there(storage: CheckpointStorage) -> None:
    """Manifests go first when a job is deleted and come last when it is copied or moved: cut off in between, there are
    checkpoints without a job, from which a new job of this id would have started and read less than all."""
    storage.store_checkpoint(checkpoint(storage.acquire_epoch("j", 1, 1), 1, job_id="j"))
    with pytest.raises(UsageError, match="the storage contains checkpoints of the job j, but not its manifest"):
        claim_new(storage, "j", plan)
    assert storage.get_manifest("j") is None
    storage.delete_job("j")
    assert claim_new(storage, "j", plan).version == 1


def test_each_process_writes_the_next_version(storage: CheckpointStorage) -> None:
    claim_new(storage, "j", plan)
    claims = [claim_again(storage, "j", plan) for _ in range(2)]
    assert [claim.version for claim in claims if isinstance(claim, Claim)] == [2, 3]


def test_every_epoch_of_a_later_process_is_larger(storage: CheckpointStorage) -> None:
    first = claim_new(storage, "j", plan)
    second = claim_again(storage, "j", plan)
    assert isinstance(second, Claim)
    assert first.epoch_minimum(EPOCHS_PER_VERSION - 1) < second.epoch_minimum(0)
    assert first.epoch_minimum(0) < first.epoch_minimum(1)


def test_unknown_id_is_refused(storage: CheckpointStorage) -> None:
    with pytest.raises(UsageError, match="there is no job nobody"):
        claim_again(storage, "nobody", plan)


def test_ended_job_gives_its_closing_table(storage: CheckpointStorage) -> None:
    claim = claim_new(storage, "j", plan)
    report = JobReport(job_id="j", name="job", outcome=JobOutcome.FINISHED, pipelines=(), started_at=1.0, ended_at=2.0)
    storage.put_manifest("j", 2, claim.job.manifest.closed(report_record(report)).to_bytes())
    again = claim_again(storage, "j", plan)
    assert isinstance(again, JobReport)
    assert again.ended_before
    assert (again.name, again.started_at, again.ended_at) == ("job", 1.0, 2.0)


def test_of_two_at_the_same_moment_one_wins(storage: CheckpointStorage) -> None:
    claim_new(storage, "j", plan)

    def other_comes_first(manifest: Manifest | None) -> PlannedJob:
        claim_again(storage, "j", plan)
        return plan(manifest)

    with pytest.raises(UsageError, match="another process has just started the job j"):
        claim_again(storage, "j", other_comes_first)


def test_a_restart_takes_no_pipeline_back_from_the_process_that_goes_on_with_the_job(
    storage: CheckpointStorage,
) -> None:
    """Storages give the next epoch after the largest, so that of a process that had lost its job, and whose pipeline
    failed and started again before it noticed, was the newest: it fenced the right one off."""
    first, second = 1 * EPOCHS_PER_VERSION, 2 * EPOCHS_PER_VERSION
    assert claim_epoch(storage, "j", 1, first) == first
    assert claim_epoch(storage, "j", 1, first + 1) == first + 1
    assert claim_epoch(storage, "j", 1, second) == second
    with pytest.raises(StaleEpochError, match=f"it claimed epoch {second}"):
        claim_epoch(storage, "j", 1, first + 2)
    assert storage.scan("j", 1).newest_epoch == second
    assert claim_epoch(storage, "j", 2, first + 2) == first + 2, "nobody else has this pipeline yet"


@pytest.mark.parametrize("step", ["list", "put"])
def test_a_process_that_falls_asleep_in_its_claim_takes_no_pipeline_back_either(step: str) -> None:
    """It had looked before it slept, and claimed with the storage's next epoch when it woke up: above that of the
    process that had gone on with the job. A simulated job found it."""
    first, second = 1 * EPOCHS_PER_VERSION, 2 * EPOCHS_PER_VERSION
    blobs: dict[str, bytes] = {}
    newer = MemoryStorage(blobs)
    asleep = [step]

    def sleep(operation: str, _key: str) -> None:
        if operation in asleep:
            asleep.clear()
            claim_epoch(newer, "j", 1, second)

    with pytest.raises(StaleEpochError, match=f"it claimed epoch {second}"):
        claim_epoch(MemoryStorage(blobs, before=sleep), "j", 1, first)
    assert newer.newest_epoch("j", 1) == second
