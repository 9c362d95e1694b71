"""How an epoch carries out what the protocol wants, where that goes wrong."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import define, field

from seatunnel_core.checkpoint import commands, events
from seatunnel_core.checkpoint.transitions import Phase
from seatunnel_core.connector_api.source import Enumeration
from seatunnel_core.errors import PlatformError
from seatunnel_core.reporting.notices import PipelineLog
from seatunnel_core.runtime import epoch_run
from seatunnel_core.runtime.epoch_run import EpochRun
from seatunnel_core.runtime.shared import SharedResources
from seatunnel_core.spark.work import UnitResult
from seatunnel_core.work.unit import AttemptId, UnitAttempt, WorkUnit
from tests.jobs.at_once import AtOnce


@define
class OneStep:
    """A protocol that wants one thing, and keeps what it is told."""

    wanted: commands.Command
    told: list[Any] = field(factory=list)
    answered: asyncio.Event = field(factory=asyncio.Event)

    def handle(self, event: Any) -> tuple[commands.Command, ...]:
        if isinstance(event, events.Started):
            return (self.wanted,)
        self.told.append(event)
        self.answered.set()
        return ()


class WorkOnCluster:
    """What asks a Spark that is not there."""

    shares_disk = False
    sources = None

    def prepare_sinks(self, command: commands.PrepareSinks) -> None:
        raise PlatformError("Spark is not running")


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


def test_a_spark_that_did_not_start_says_why_also_where_it_is_needed_first(loop: asyncio.AbstractEventLoop) -> None:
    """On a cluster the sinks are proved by a task, before anything is enumerated."""
    protocol = OneStep(commands.PrepareSinks(epoch=1, save_mode_pending=frozenset()))
    spark: asyncio.Future[Any] = loop.create_future()
    with ThreadPoolExecutor(1) as pool:
        run = EpochRun(
            protocol=protocol,  # type: ignore[arg-type]
            work=WorkOnCluster(),  # type: ignore[arg-type]
            shared=SharedResources(loop=loop, storage_pool=pool, connector_pool=pool, spark=spark),
            owner=None,  # type: ignore[arg-type]
            log=PipelineLog("1", 1),
        )
        run.start()
        spark.set_exception(PlatformError("Spark did not start: no Java"))
        loop.run_until_complete(asyncio.wait_for(protocol.answered.wait(), 10))
    (failed,) = protocol.told
    assert isinstance(failed, events.ConnectorFailed)
    assert failed.failure.message == "Spark did not start: no Java"


class WorkWithASource:
    """A source of no splits, which needs no task to be enumerated."""

    on_frames = has_frame_transforms = False
    job_id = "job"

    def __init__(self, limited: bool) -> None:
        self.limited = limited
        self.sources = self.planned = self

    def discover(self, source_name: str) -> tuple[()]:
        return ()

    def enumerate(self, source_name: str, attachment: str | None, items: Any, cursor: Any) -> tuple[Enumeration, str]:
        return Enumeration(schemas=(), splits=()), "frozen"

    def open(self, source_name: str, *, restored: bool) -> None:
        """It holds nothing."""

    def chain(self, source_name: str, schemas: Any, epoch: int) -> None:
        return None

    def is_limited(self, source_name: str) -> bool:
        return self.limited


@pytest.mark.parametrize("limited", [True, False])
def test_a_source_with_a_speed_limit_begins_when_spark_runs(loop: asyncio.AbstractEventLoop, limited: bool) -> None:
    """Its splits flowed while Spark started, and were read at once when it ran: seconds of the limit in a moment."""
    protocol = OneStep(commands.Enumerate(source="in", attachment=None))
    spark: asyncio.Future[Any] = loop.create_future()
    pool = AtOnce()
    run = EpochRun(
        protocol=protocol,  # type: ignore[arg-type]
        work=WorkWithASource(limited),  # type: ignore[arg-type]
        shared=SharedResources(loop=loop, storage_pool=pool, connector_pool=pool, spark=spark),
        owner=None,  # type: ignore[arg-type]
        log=PipelineLog("1", 1),
    )
    run.start()
    for _ in range(5):
        loop.run_until_complete(asyncio.sleep(0))
    assert bool(protocol.told) is not limited
    spark.set_result(None)
    loop.run_until_complete(asyncio.wait_for(protocol.answered.wait(), 10))
    assert [type(event) for event in protocol.told] == [events.Enumerated]


@define
class Dispatcher:
    """Takes units, and gives results when it is asked to."""

    submitted: list[Any] = field(factory=list)
    cancelled: list[tuple[str, int]] = field(factory=list)

    def submit(self, _chain: Any, _attempt: Any, on_result: Any, **_more: Any) -> None:
        self.submitted.append(on_result)

    def cancel(self, job_id: str, pipeline_id: int) -> None:
        self.cancelled.append((job_id, pipeline_id))


@pytest.mark.parametrize("answered", [True, False])
def test_only_units_that_spark_still_has_are_cancelled_in_the_end(
    loop: asyncio.AbstractEventLoop, answered: bool
) -> None:
    """To cancel is to look through all that waits, of all pipelines."""
    protocol = OneStep(
        commands.RunUnit(task="in", attempt=UnitAttempt(unit=WorkUnit(number=1, splits=()), epoch=1, number=1))
    )
    dispatcher, pool = Dispatcher(), AtOnce()
    spark: asyncio.Future[Any] = loop.create_future()
    spark.set_result(dispatcher)
    run = EpochRun(
        protocol=protocol,  # type: ignore[arg-type]
        work=SimpleNamespace(job_id="job", planned=SimpleNamespace(id=7), sources=None),  # type: ignore[arg-type]
        shared=SharedResources(loop=loop, storage_pool=pool, connector_pool=pool, spark=spark),
        owner=None,  # type: ignore[arg-type]
        log=PipelineLog("1", 1),
    )
    run._units._chains["in"] = SimpleNamespace(source=None)  # type: ignore[assignment]
    run.start()
    loop.run_until_complete(asyncio.sleep(0))
    (on_result,) = dispatcher.submitted
    if answered:
        result = UnitResult(
            job_id="job",
            pipeline_id=7,
            source="in",
            attempt=AttemptId(unit=1, epoch=1, number=1),
            failure=None,
            rows_read=3,
        )
        on_result(result)
        loop.run_until_complete(asyncio.wait_for(protocol.answered.wait(), 10))
    run.leave()
    run.leave()
    assert dispatcher.cancelled == ([] if answered else [("job", 7)])


@define
class FailedMeanwhile(OneStep):
    """A protocol whose pipeline has failed while a commit is running."""

    phase: Phase = Phase.ENDED


@pytest.mark.parametrize("hangs", [False, True])
def test_a_failed_pipeline_waits_for_its_running_commits(
    loop: asyncio.AbstractEventLoop, hangs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their rows are published, and were missing in the closing table. One that hangs delays the end for a time."""
    monkeypatch.setattr(epoch_run, "LAST_COMMITS_S", 0.01 if hangs else 60)
    protocol = FailedMeanwhile(commands.Commit(sink="out", committables=(), may_be_committed=False))
    spark: asyncio.Future[Any] = loop.create_future()
    goes_on, ended = threading.Event(), asyncio.Event()

    class Work:
        sources = None

        def commits_on_spark(self, sink: str) -> bool:
            return False

        def commit(self, *_what: object, may_be_committed: bool) -> None:
            assert goes_on.wait(60)

    with ThreadPoolExecutor(1) as pool:
        run = EpochRun(
            protocol=protocol,  # type: ignore[arg-type]
            work=Work(),  # type: ignore[arg-type]
            shared=SharedResources(loop=loop, storage_pool=pool, connector_pool=pool, spark=spark),
            owner=None,  # type: ignore[arg-type]
            log=PipelineLog("1", 1),
        )
        run.after_commits(ended.set)
        assert ended.is_set(), "nothing is running yet"
        ended.clear()
        run.start()
        run.leave()
        run.after_commits(ended.set)
        assert not ended.is_set()
        if not hangs:
            goes_on.set()
        loop.run_until_complete(asyncio.wait_for(ended.wait(), 10))
        assert [type(event) for event in protocol.told] == ([] if hangs else [events.CommitSucceeded])
        goes_on.set()
