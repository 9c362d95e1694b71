"""Run of one epoch of a pipeline: executes the commands of the protocol, from the claim of the epoch to its end.

All methods run on the loop's thread, except work that ``_ask`` passes to a pool, which returns its result to the loop
as an event. Results that arrive after the end of the epoch are dropped.
"""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol, TypeVar

from seatunnel_core.checkpoint import commands, events
from seatunnel_core.checkpoint.commands import Command, EndPipeline, Outcome
from seatunnel_core.checkpoint.events import Event
from seatunnel_core.checkpoint.pipeline import PipelineProtocol
from seatunnel_core.checkpoint.progress import PipelineProgress
from seatunnel_core.checkpoint.transitions import Phase
from seatunnel_core.clock import now_ms
from seatunnel_core.reporting.connector_warnings import heard
from seatunnel_core.reporting.counters import SAMPLE_S, Metrics
from seatunnel_core.reporting.notices import Notices, PipelineLog
from seatunnel_core.runtime.pipeline_io import PipelineIO
from seatunnel_core.runtime.polling import SourcePolling
from seatunnel_core.runtime.rereads import Reread
from seatunnel_core.runtime.shared import SharedResources
from seatunnel_core.runtime.source_planning import Planner
from seatunnel_core.runtime.thread_pool import Pool
from seatunnel_core.runtime.timers import Timers
from seatunnel_core.runtime.unit_runs import UnitRuns
from seatunnel_core.spark.failure import failure_of
from seatunnel_storage_api.errors import CheckpointCorruptedError, StaleEpochError
from seatunnel_storage_api.state import CheckpointRef

T = TypeVar("T")

LAST_COMMITS_S = 10.0
"""Maximum time that a failed pipeline waits for running commits in order to count their rows, in seconds."""

_STOPPING = "the job is stopping"


class EpochOwner(Protocol):
    """Receiver of notifications about the start and the end of an epoch and the results of savepoints."""

    def epoch_begun(self, run: "EpochRun") -> None:
        """Handle the start of the epoch: the restore point is durable, and the pipeline can be resumed."""

    def epoch_ended(self, run: "EpochRun", end: EndPipeline) -> None:
        """Handle the end of the epoch, after the last command of the protocol or its failure."""

    def savepoint_answered(self, name: str, ref: CheckpointRef | None, reason: str) -> None:
        """Handle the result of a savepoint, which is durable as ``ref`` or failed because of ``reason``."""


class EpochRun:
    """Run of one epoch. Call ``start`` to begin it, and always call ``leave`` to end it."""

    def __init__(
        self,
        *,
        protocol: PipelineProtocol,
        work: PipelineIO,
        shared: SharedResources,
        owner: EpochOwner,
        log: PipelineLog,
        metrics: Metrics | None = None,
    ) -> None:
        """Create the run; ``metrics`` counts over all epochs of the pipeline."""
        self.started_ms = now_ms()
        self._metrics = metrics or Metrics()
        self.notices = Notices(log, self._metrics)
        self._protocol = protocol
        self._work = work
        self._shared = shared
        self._owner = owner
        self._epoch = 0
        self._left = False
        self._commits = 0
        """Number of running commits."""
        self._after_commits: list[Callable[[], None]] = []
        self._timers = Timers(shared.loop, self.deliver)
        self._sampling: asyncio.TimerHandle | None = None
        self._heard = False
        """True if an event has arrived since the last sample; otherwise no rows have moved."""
        self._units = UnitRuns(work, shared, self.notices, self._metrics, self.deliver, self._when_spark_runs)
        self._polling = SourcePolling(work.sources, shared, self.notices, self.deliver, self._when_spark_runs)
        planner = Planner(
            *(work, shared, lambda: self._epoch, self._units.take, self.deliver, self._when_spark_runs),
            warned=self._metrics.warned,
        )
        self._actions = self._action_table(planner)

    def _action_table(self, planner: Planner) -> Mapping[type[Command], Callable[[Any], None]]:
        return {
            commands.ClaimEpoch: self._claim_epoch,
            commands.ListCheckpoints: self._list_checkpoints,
            commands.LoadCheckpoint: self._load_checkpoint,
            commands.ListPublished: self._list_published,
            commands.StoreCheckpoint: self._store_checkpoint,
            commands.SetTimer: self._timers.set,
            commands.CancelTimer: self._timers.cancel,
            commands.PrepareSinks: self._prepare_sinks,
            commands.Enumerate: planner.enumerate,
            commands.Poll: self._polling.poll,
            commands.RunUnit: self._units.run,
            commands.CancelUnits: self._units.cancel,
            commands.Commit: self._commit,
            commands.Complete: self._complete,
            commands.Sweep: self._sweep,
            commands.Retract: self._retract,
            commands.EndPipeline: self._end,
            commands.EpochStarted: self._epoch_started,
            commands.SavepointCompleted: self._savepoint_completed,
            commands.SavepointFailed: self._savepoint_failed,
            **self.notices.handlers,
            commands.CheckpointTriggered: self._checkpoint_triggered,
            commands.CheckpointCompleted: self._checkpoint_completed,
            commands.CheckpointPublished: self._checkpoint_published,
        }

    def start(self) -> None:
        """Begin the epoch with the event ``Started``."""
        self.deliver(lambda now: events.Started(now_ms=now))

    def stop(self) -> None:
        """Request a clean stop: a final checkpoint, then ``Outcome.STOPPED``."""
        self._polling.rereads.close(_STOPPING, unsaved=False)
        self.deliver(lambda now: events.StopRequested(now_ms=now))

    def savepoint(self, name: str, *, stop: bool, drain: bool) -> None:
        """Request a savepoint; the owner receives the result."""
        if stop or drain:
            self._polling.rereads.close(_STOPPING, unsaved=False)
        self.deliver(lambda now: events.SavepointRequested(now_ms=now, name=name, stop=stop, drain=drain))

    def reread(self, request: Reread) -> None:
        """Pass a request to read a table again to the next poll of its source."""
        self._polling.rereads.add(request)

    def leave(self) -> None:
        """Cancel the timers and units of the epoch, and ignore all later results."""
        self._left = True
        self._timers.cancel_all()
        if self._sampling is not None:
            self._sampling.cancel()
        self._units.cancel()
        self._polling.rereads.close("the pipeline ended, or was restarted after a failure")

    def after_commits(self, then: Callable[[], None]) -> None:
        """Call ``then`` once no commit is running or the wait has timed out. Count the rows of commits that succeed."""
        if not self._commits:
            then()
            return
        late = self._shared.loop.call_later(LAST_COMMITS_S, then)
        self._after_commits += [late.cancel, then]

    def progress(self) -> PipelineProgress:
        """Return the current counters of the pipeline."""
        return self._protocol.progress()

    # -- events and commands --------------------------------------------------------------------------------------

    def deliver(self, event_at: Callable[[int], Event]) -> None:
        """Pass an event with the current time to the protocol, and execute the resulting commands."""
        if self._left:
            return
        self._heard = True
        try:
            for command in self._protocol.handle(event_at(now_ms())):
                self._actions[type(command)](command)
        except Exception as error:  # a bug in the engine must end only this pipeline
            self._owner.epoch_ended(self, EndPipeline(outcome=Outcome.FAILED, failure=failure_of(error)))

    def _ask(
        self,
        pool: Pool,
        work: Callable[[], T],
        answer: Callable[[int, T], Event],
        failed: Callable[[int, Exception], Event],
        deliver: Callable[[Callable[[int], Event]], None] | None = None,
    ) -> None:
        def run() -> Callable[[], None]:
            try:
                event_at = partial(_answered, answer, work())
            except Exception as error:
                event_at = partial(_answered, failed, error)
            return partial(deliver or self.deliver, event_at)

        self._do_in(pool, run)

    def _do_in(self, pool: Pool, work: Callable[[], Callable[[], None]]) -> None:
        """Run the work in the pool, and the function that it returns on the loop."""

        def run() -> None:
            with heard(self._metrics.warned):
                then = work()
            self._shared.inbox.put(then)

        pool.submit(run)

    # -- checkpoint storage ---------------------------------------------------------------------------------------

    def _claim_epoch(self, command: commands.ClaimEpoch) -> None:
        self._ask(
            self._shared.storage_pool,
            lambda: self._work.claim_epoch(command.minimum),
            lambda now, epoch: events.EpochClaimed(now_ms=now, epoch=epoch),
            self._fenced_or_failed,
        )

    def _list_checkpoints(self, _command: commands.ListCheckpoints) -> None:
        self._ask(
            self._shared.storage_pool,
            self._work.list_checkpoints,
            lambda now, listing: events.CheckpointsListed(
                now_ms=now, checkpoints=listing.checkpoints, newest_epoch=listing.newest_epoch
            ),
            self._storage_failed,
        )

    def _load_checkpoint(self, command: commands.LoadCheckpoint) -> None:
        def load() -> Callable[[int], Event]:
            try:
                state = self._work.load(command.ref)
            except CheckpointCorruptedError as damage:
                intact, message = self._work.newest_intact(), str(damage)
                return lambda now: events.CheckpointDamaged(now_ms=now, ref=command.ref, intact=intact, message=message)
            return lambda now: events.CheckpointLoaded(now_ms=now, state=state)

        self._ask(self._shared.storage_pool, load, lambda now, event_at: event_at(now), self._storage_failed)

    def _list_published(self, command: commands.ListPublished) -> None:
        self._ask(
            self._shared.connector_pool,
            lambda: self._work.published(command.epoch),
            lambda now, published: events.PublishedListed(now_ms=now, published=published),
            self._connector_failed,
        )

    def _store_checkpoint(self, command: commands.StoreCheckpoint) -> None:
        ref = command.state.ref
        self._ask(
            self._shared.storage_pool,
            lambda: self._work.store(command.state, command.content),
            lambda now, _none: events.CheckpointStored(now_ms=now, ref=ref),
            partial(self._fenced_or_failed, ref=ref),
        )

    def _checkpoint_triggered(self, notice: commands.CheckpointTriggered) -> None:
        self.notices.handlers[commands.CheckpointTriggered](notice)
        self._polling.rereads.triggered(notice.checkpoint_id)

    def _checkpoint_completed(self, notice: commands.CheckpointCompleted) -> None:
        self.notices.handlers[commands.CheckpointCompleted](notice)
        self._polling.rereads.completed(notice.checkpoint_id)

    def _checkpoint_published(self, command: commands.CheckpointPublished) -> None:
        """Acknowledge the rows to the sources in a thread of the pool, without waiting for it (R11)."""
        self.notices.handlers[commands.CheckpointPublished](command)
        if self._work.upstream:
            self._shared.connector_pool.submit(self._work.upstream.published, command.checkpoint_id)

    def _fenced_or_failed(self, now: int, error: Exception, ref: CheckpointRef | None = None) -> Event:
        if isinstance(error, StaleEpochError):
            return events.FenceLost(now_ms=now, message=str(error))
        return events.StorageFailed(now_ms=now, failure=failure_of(error), ref=ref)

    def _storage_failed(self, now: int, error: Exception) -> Event:
        return events.StorageFailed(now_ms=now, failure=failure_of(error))

    # -- sinks and sources ----------------------------------------------------------------------------------------

    def _prepare_sinks(self, command: commands.PrepareSinks) -> None:
        def prepare_and_prove() -> None:
            if not self._work.shares_disk:
                self._shared.spark.result()
            self._work.prepare_sinks(command)

        prepare = partial(
            self._ask,
            self._shared.connector_pool,
            prepare_and_prove,
            lambda now, _none: events.SinksPrepared(now_ms=now),
            self._connector_failed,
        )
        if self._work.shares_disk:
            prepare()
        else:
            self._when_spark_runs(prepare)

    def _when_spark_runs(self, action: Callable[[], None]) -> None:
        """Call ``action`` once Spark is running or has failed to start, without blocking a thread."""
        self._shared.spark.add_done_callback(lambda _spark: None if self._left else action())

    def _commit(self, command: commands.Commit) -> None:
        ids = tuple(committable.id for committable in command.committables)
        on_spark = self._work.commits_on_spark(command.sink)

        def publish() -> None:
            if on_spark:
                self._shared.spark.result()
            self._work.commit(
                command.sink, self._epoch, command.committables, may_be_committed=command.may_be_committed
            )

        commit = partial(
            self._ask,
            self._shared.connector_pool,
            publish,
            lambda now, _none: events.CommitSucceeded(now_ms=now, sink=command.sink, ids=ids),
            lambda now, error: events.CommitFailed(
                now_ms=now, sink=command.sink, committed=(), failure=failure_of(error)
            ),
            self._commit_ended,
        )
        self._commits += 1
        if on_spark:
            self._when_spark_runs(commit)
        else:
            commit()

    def _commit_ended(self, event_at: Callable[[int], Event]) -> None:
        """Deliver and count the result of a commit, even if the pipeline has failed in the meantime."""
        self._commits -= 1
        if self._protocol.phase is Phase.ENDED:
            self._protocol.handle(event_at(now_ms()))
        else:
            self.deliver(event_at)
        if not self._commits:
            waiting, self._after_commits = self._after_commits, []
            for then in waiting:
                then()

    def _complete(self, command: commands.Complete) -> None:
        self._ask(
            self._shared.connector_pool,
            lambda: self._work.complete(command.epoch),
            lambda now, _none: events.Completed(now_ms=now),
            self._connector_failed,
        )

    def _sweep(self, command: commands.Sweep) -> None:
        self._ask(
            self._shared.connector_pool,
            lambda: self._work.sweep(command.epoch, command.keep, final=command.final),
            lambda now, removed: events.Swept(now_ms=now, removed=removed),
            self._connector_failed,
        )

    def _retract(self, command: commands.Retract) -> None:
        def retracted(now: int, removed: int) -> Event:
            self.notices.retracted(removed)
            return events.Retracted(now_ms=now, removed=removed)

        work = partial(self._work.retract, command.epoch, command.retractions)
        self._ask(self._shared.connector_pool, work, retracted, self._connector_failed)

    def _connector_failed(self, now: int, error: Exception) -> Event:
        return events.ConnectorFailed(now_ms=now, failure=failure_of(error))

    # -- start and end --------------------------------------------------------------------------------------------

    def _epoch_started(self, notice: commands.EpochStarted) -> None:
        self._epoch = notice.epoch
        self.notices.epoch_started(notice)
        self._heard = notice.base is not None  # the restored rows were not moved by this process
        self._sample()
        self._owner.epoch_begun(self)

    def _sample(self) -> None:
        """Sample the counters of rows and bytes every few seconds, for rates."""
        if self._heard:
            self._metrics.sample(self.progress())
        else:
            self._metrics.rest()
        self._heard = False
        self._sampling = self._shared.loop.call_later(SAMPLE_S, self._sample)

    def _savepoint_completed(self, notice: commands.SavepointCompleted) -> None:
        self.notices.savepoint_completed(notice)
        self._owner.savepoint_answered(notice.name, notice.ref, "")

    def _savepoint_failed(self, notice: commands.SavepointFailed) -> None:
        self.notices.savepoint_failed(notice)
        self._owner.savepoint_answered(notice.name, None, notice.reason)

    def _end(self, command: commands.EndPipeline) -> None:
        self._metrics.sample(self.progress())
        self._owner.epoch_ended(self, self._polling.end(command))


def _answered(build: Callable[[int, T], Event], value: T, now: int) -> Event:
    return build(now, value)
