"""Enumeration of the sources of a pipeline, and planning of their operator chains, at the start of an epoch."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from attrs import define, field, frozen

from seatunnel_core.checkpoint import commands, events
from seatunnel_core.checkpoint.events import Event
from seatunnel_core.connector_api.source import DiscoveredObject, Enumeration
from seatunnel_core.reporting.connector_warnings import heard
from seatunnel_core.runtime.pipeline_io import PipelineIO, require_same_splits
from seatunnel_core.runtime.shared import SharedResources
from seatunnel_core.spark.failure import failure_of
from seatunnel_core.spark.operator_chain import OperatorChain
from seatunnel_core.work.split import Split

Then = Callable[[], None]
"""Remaining work that runs on the loop."""


@frozen
class _Enumerated:
    command: commands.Enumerate
    enumeration: Enumeration
    attachment: str

    def event(self, splits: Sequence[Split], now: int) -> Event:
        return events.Enumerated(
            now_ms=now, source=self.command.source, splits=tuple(splits), attachment=self.attachment
        )


@define(eq=False, repr=False)
class Planner:
    """Planner for the sources of one pipeline and the operator chains of their tasks.

    Objects are listed in a thread of the pool. If tasks must inspect them, planning continues once Spark runs. Each
    source is planned separately, unless Spark plans a transform: a query may combine several sources and read all
    their splits as one, so its chain depends on all sources of the pipeline.
    """

    _work: PipelineIO
    """Blocking calls of the pipeline."""

    _shared: SharedResources
    """Pools and Spark."""

    _epoch: Callable[[], int]
    """Function that returns the epoch once it is claimed."""

    _take_chains: Callable[[Mapping[str, OperatorChain]], None]
    """Function that receives the operator chains by source, on the loop."""

    _deliver: Callable[[Callable[[int], Event]], None]
    """Function that delivers an event on the loop, unless it arrives too late. Its argument creates the event for a
    given time."""

    _when_spark_runs: Callable[[Then], None]
    """Function that calls its argument on the loop once Spark runs or has failed to start."""

    _warned: Callable[[str], None]
    """Function that receives the warnings of a connector, in a thread of the pool."""

    _waiting: dict[str, _Enumerated] = field(factory=dict, init=False)
    """Sources, by name, that wait for the enumeration of the other sources because all are planned together."""

    def enumerate(self, command: commands.Enumerate) -> None:
        """Enumerate a source. If tasks must inspect objects first, wait until Spark runs."""
        self._in_pool(partial(self._discover, command))

    def _discover(self, command: commands.Enumerate) -> Then:
        items = self._work.sources.discover(command.source) if command.attachment is None else ()
        if items or self._work.planned.on_frames:
            return partial(self._on_spark, partial(self._plan, command, items))
        deliver = self._plan(command, items)
        if self._work.sources.is_limited(command.source):  # otherwise its splits would be read as soon as Spark runs
            return partial(self._when_spark_runs, deliver)
        return deliver

    def _plan(self, command: commands.Enumerate, items: Sequence[DiscoveredObject]) -> Then:
        source, attachment = command.source, command.attachment
        enumeration, stored = self._work.sources.enumerate(source, attachment, items, command.memory)
        self._work.sources.open(source, restored=attachment is not None)
        done = _Enumerated(command, enumeration, stored)
        if self._work.planned.has_frame_transforms:
            return partial(self._wait_for_others, done)
        require_same_splits(source, command.total, enumeration.splits)
        chain = self._work.chain(source, enumeration.schemas, self._epoch())
        return partial(self._deliver_all, {source: chain}, [(done, enumeration.splits)])

    def _wait_for_others(self, done: _Enumerated) -> None:
        self._waiting[done.command.source] = done
        if len(self._waiting) == len(self._work.sources):
            every, self._waiting = self._waiting, {}
            self._on_spark(partial(self._plan_together, every))

    def _plan_together(self, every: dict[str, _Enumerated]) -> Then:
        enumerations = {name: done.enumeration for name, done in every.items()}
        frozen = {name: done.command.total for name, done in every.items() if done.command.total is not None}
        chains, splits = self._work.chains(enumerations, frozen, self._epoch())
        return partial(self._deliver_all, chains, [(done, splits[name]) for name, done in every.items()])

    def _deliver_all(
        self, chains: dict[str, OperatorChain], every: Sequence[tuple[_Enumerated, Sequence[Split]]]
    ) -> None:
        self._take_chains(chains)
        for done, splits in every:
            self._deliver(partial(done.event, splits))

    def _on_spark(self, work: Callable[[], Then]) -> None:
        def run() -> Then:
            self._shared.spark.result()
            return work()

        self._when_spark_runs(partial(self._in_pool, run))

    def _in_pool(self, work: Callable[[], Then]) -> None:
        """Run the work in a thread and the function that it returns on the loop; deliver an exception as a failure."""

        def run() -> None:
            try:
                with heard(self._warned):
                    then = work()
            except Exception as error:
                then = partial(self._deliver, partial(_failed, error))
            self._shared.inbox.put(then)

        self._shared.connector_pool.submit(run)


def _failed(error: Exception, now: int) -> Event:
    return events.ConnectorFailed(now_ms=now, failure=failure_of(error))
