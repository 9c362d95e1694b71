"""A job's savepoint is complete when each pipeline has its part and the manifest names it: never before, never half."""

from concurrent.futures import Future

import pytest
from attrs import define, field

from seatunnel_core.claiming.claim import Claim
from seatunnel_core.errors import SavepointError, UsageError
from seatunnel_core.job.manifest import Manifest
from seatunnel_core.job.savepoint import JobSavepoint
from seatunnel_core.runtime.savepoints import Answer, JobSavepoints, ManifestWriter
from seatunnel_storage_api.memory import MemoryStorage, MemoryStorageFactory
from seatunnel_storage_api.state import CheckpointRef, CheckpointType, PipelineState
from tests.jobs.at_once import AtOnce

JOB = "job"


@define
class Planned:
    manifest: Manifest = field(factory=lambda: Manifest(job_name="a job"))


@define
class Pipeline:
    """One that answers when it is told to."""

    id: int
    title: str = "in -> out"
    answers: dict[str, Answer] = field(factory=dict)
    asked: list[tuple[str, bool, bool]] = field(factory=list)

    def savepoint(self, name: str, *, stop: bool, drain: bool, answer: Answer) -> None:
        self.asked.append((name, stop, drain))
        self.answers[name] = answer

    def takes(self, name: str, checkpoint_id: int = 5) -> None:
        self.answers[name](CheckpointRef(100_000, checkpoint_id), "")

    def refuses(self, name: str, reason: str) -> None:
        self.answers[name](None, reason)


@define
class Played:
    storage: MemoryStorage
    savepoints: JobSavepoints
    pipelines: list[Pipeline]

    def take(self, name: str | None = None, *, stop: bool = False, drain: bool = False) -> "Future[JobSavepoint]":
        taken: Future[JobSavepoint] = Future()
        self.savepoints.take(name, stop=stop, drain=drain, pipelines=self.pipelines, taken=taken)
        return taken

    def stored(self) -> tuple[JobSavepoint, ...]:
        found = self.storage.get_manifest(JOB)
        assert found is not None
        return Manifest.from_bytes(found.body).savepoints


@pytest.fixture
def played() -> Played:
    storage = MemoryStorageFactory().create({})
    claim = Claim(version=1, job=Planned())  # type: ignore[arg-type]
    storage.put_manifest(JOB, 1, Planned().manifest.to_bytes())
    writer = ManifestWriter(storage, JOB, claim)
    return Played(storage, JobSavepoints(writer, AtOnce()), [Pipeline(1), Pipeline(2)])


def said(taken: "Future[JobSavepoint]") -> str:
    error = taken.exception(timeout=0)
    assert isinstance(error, SavepointError | UsageError), error
    return str(error)


def test_it_is_written_when_the_last_pipeline_has_its_part(played: Played) -> None:
    taken = played.take("mine")
    assert [each.asked for each in played.pipelines] == [[("mine", False, False)]] * 2
    played.pipelines[1].takes("mine", 9)
    assert played.stored() == ()
    assert not taken.done()
    played.pipelines[0].takes("mine", 7)
    (stored,) = played.stored()
    assert stored == taken.result(timeout=0)
    assert stored.pipelines == {1: CheckpointRef(100_000, 7), 2: CheckpointRef(100_000, 9)}
    assert not stored.stopped


def test_it_says_which_of_its_parts_are_final(played: Played) -> None:
    """Such a part is kept until a later start of its pipeline has one of its own."""
    epoch = played.storage.acquire_epoch(JOB, 2, 100_000)
    played.storage.store_checkpoint(
        PipelineState(
            job_id=JOB,
            pipeline_id=2,
            epoch=epoch,
            checkpoint_id=9,
            checkpoint_type=CheckpointType.COMPLETED_POINT,
            states=b"",
        )
    )
    taken = played.take("mine")
    played.pipelines[0].takes("mine", 9)
    played.pipelines[1].takes("mine", 9)
    assert taken.result(timeout=0).finished == {2}
    assert played.stored()[0].finished == {2}


def test_without_a_name_it_gets_the_next_number(played: Played) -> None:
    for name in (None, "7", None, "x"):
        taken = played.take(name)
        for pipeline in played.pipelines:
            pipeline.takes(pipeline.asked[-1][0])
        assert taken.done()
    assert [each.name for each in played.stored()] == ["1", "7", "8", "x"]


def test_a_name_is_given_once(played: Played) -> None:
    open_one = played.take("mine")
    assert "this job already has a savepoint mine" in said(played.take("mine"))
    assert not open_one.done()
    assert "is not a savepoint name" in said(played.take("../x"))


def test_one_pipeline_that_cannot_is_enough(played: Played) -> None:
    taken = played.take("mine")
    played.pipelines[0].takes("mine")
    played.pipelines[1].refuses("mine", "it fell")
    assert said(taken) == "the savepoint mine was not taken: pipeline 2 (in -> out): it fell"
    assert played.stored() == ()


@pytest.mark.parametrize("how", [{"stop": True}, {"drain": True}])
def test_one_that_stops_the_job_is_written_when_the_job_has_stopped(played: Played, how: dict[str, bool]) -> None:
    taken = played.take(None, **how)
    for pipeline in played.pipelines:
        pipeline.takes("1")
    assert played.stored() == ()
    played.savepoints.conclude()
    assert played.stored() == (taken.result(timeout=0),)
    assert played.stored()[0].stopped


def test_a_process_that_lost_the_job_takes_none(played: Played) -> None:
    taken = played.take("mine")
    played.storage.put_manifest(JOB, 2, Planned().manifest.to_bytes())
    for pipeline in played.pipelines:
        pipeline.takes("mine")
    assert "another process has claimed the job" in said(taken)


def test_a_storage_that_fails_is_reported(played: Played) -> None:
    taken = played.take("mine")
    played.storage.close()
    for pipeline in played.pipelines:
        pipeline.takes("mine")
    assert "the savepoint mine was not taken: " in said(taken)


def test_nobody_waits_for_a_job_that_ended(played: Played) -> None:
    half, whole = played.take("half"), played.take("whole", stop=True)
    for pipeline in played.pipelines:
        pipeline.takes("whole")
    played.savepoints.close()
    assert "the job ended before the savepoint was complete" in said(half)
    assert "the job ended before the savepoint was complete" in said(whole)
    played.savepoints.conclude()  # comes too late to change what was said
    assert "the job ended before the savepoint was complete" in said(whole)


def test_one_that_is_asked_for_while_the_job_ends_is_answered(played: Played) -> None:
    """Nothing ends the job a second time, so nothing else would write it."""
    early = played.take("early", stop=True)
    for each in played.pipelines:
        each.takes("early", 7)
    assert not early.done()
    played.savepoints.conclude()
    late = played.take("late", stop=True)
    for each in played.pipelines:
        each.takes("late", 7)
    assert [each.result(timeout=0).name for each in (early, late)] == ["early", "late"]
    assert [each.name for each in played.stored()] == ["early", "late"]
