"""Polls of unbounded sources, which find new data and divide it into splits."""

from collections.abc import Callable, Sequence
from functools import partial

from attrs import define, evolve, field

from seatunnel_core.checkpoint import commands, events
from seatunnel_core.checkpoint.events import Event
from seatunnel_core.connector_api.source import PollResult
from seatunnel_core.errors import SeaTunnelError
from seatunnel_core.reporting.notices import Notices
from seatunnel_core.runtime.rereads import Reread, Rereads
from seatunnel_core.runtime.shared import SharedResources
from seatunnel_core.runtime.source_io import SourceIO
from seatunnel_core.spark.failure import failure_of
from seatunnel_core.work.failure import Failure
from seatunnel_storage_api.state import CheckpointType


@define(eq=False, repr=False)
class SourcePolling:
    """Polls of the unbounded sources of one pipeline.

    A poll lists objects in a thread of the pool. If tasks must inspect the objects, the poll continues once Spark runs.
    """

    _sources: SourceIO
    _shared: SharedResources
    _notices: Notices
    _deliver: Callable[[Callable[[int], Event]], None]
    """Function that delivers an event on the loop. Its argument creates the event for the current time."""

    _when_spark_runs: Callable[[Callable[[], None]], None]
    _stopped_by: Failure | None = field(default=None, init=False)
    """Failure of a poll, which ends the pipeline with a final checkpoint."""

    rereads: Rereads = field(factory=Rereads, init=False)
    """Requests to read tables again, which polls add to the cursors."""

    def poll(self, command: commands.Poll) -> None:
        """Poll a source, and deliver the new splits or the failure."""
        rereads = self.rereads.of(command.source)
        self._in_pool(command, lambda: self._news(command, rereads))

    def _in_pool(self, command: commands.Poll, work: Callable[[], Callable[[], None]]) -> None:
        """Run the work in a thread and the function that it returns on the loop; deliver an exception as a failure."""

        def run() -> None:
            try:
                then = work()
            except Exception as error:
                then = partial(self._failed, command, error)
            self._shared.inbox.put(then)

        self._shared.connector_pool.submit(run)

    def _news(self, command: commands.Poll, rereads: Sequence[Reread]) -> Callable[[], None]:
        news = self._sources.poll(command.source, command.memory, command.facts, rereads)
        if not news.inspect:
            return self._cut(command, news, rereads)
        cut = partial(self._in_pool, command, lambda: self._cut(command, news, rereads))
        return lambda: self._when_spark_runs(cut)

    def _cut(self, command: commands.Poll, news: PollResult, rereads: Sequence[Reread]) -> Callable[[], None]:
        if news.inspect:
            self._shared.spark.result()
        splits = self._sources.splits_of(command.source, news, command.next_index)

        def found() -> None:
            self._notices.warned(command.source, news.warnings)
            self._deliver(event)
            if self.rereads.polled(rereads):
                kind = CheckpointType.CHECKPOINT
                self._deliver(lambda now: events.TriggerRequested(now_ms=now, checkpoint_type=kind))

        def event(now_ms: int) -> events.Found:
            self._sources.progress.polled(command.source, news.cursor, command.facts)
            return events.Found(
                now_ms=now_ms, source=command.source, splits=splits, memory=news.cursor, again_ms=news.again_ms
            )

        return found

    def end(self, command: commands.EndPipeline) -> commands.EndPipeline:
        """Return the command that ends the pipeline, with a failure if a poll has stopped the pipeline."""
        failure = self._stopped_by
        if failure is None or command.outcome is not commands.Outcome.STOPPED:
            return command
        if command.failure is not None:
            said = f"{failure.message}. The last checkpoint failed, so resume the job first: {command.failure.message}"
            failure = evolve(failure, message=said)
        return commands.EndPipeline(outcome=commands.Outcome.FAILED, failure=failure)

    def _failed(self, command: commands.Poll, error: Exception) -> None:
        failure = failure_of(error)
        if isinstance(error, SeaTunnelError) and error.stops_cleanly:
            self._stopped_by = failure
            self._deliver(lambda now: events.StopRequested(now_ms=now))
            return
        if failure.retryable:  # other errors end the pipeline, which reports them
            self._notices.warned(command.source, (failure.message,))
        self._deliver(lambda now: events.PollFailed(now_ms=now, source=command.source, failure=failure))
