"""Work units of one epoch on Spark: submission once Spark runs, and results as events."""

import logging
from collections.abc import Callable, Mapping
from functools import partial

from attrs import define, field

from seatunnel_core.checkpoint import commands, events
from seatunnel_core.checkpoint.events import Event
from seatunnel_core.clock import now_ms
from seatunnel_core.reporting.counters import Metrics
from seatunnel_core.reporting.notices import Notices
from seatunnel_core.reporting.spans import record_span
from seatunnel_core.runtime.pipeline_io import PipelineIO
from seatunnel_core.runtime.shared import SharedResources
from seatunnel_core.spark.failure import failure_of, reading
from seatunnel_core.spark.operator_chain import OperatorChain
from seatunnel_core.spark.work import UnitResult
from seatunnel_core.work.unit import AttemptId
from seatunnel_core.work.vertex_work import VertexWork

_log = logging.getLogger(__name__)


@define(eq=False, repr=False)
class UnitRuns:
    """Attempts of one epoch that wait for Spark or run on it. All methods are called on the loop's thread."""

    _work: PipelineIO
    _shared: SharedResources
    _notices: Notices
    _metrics: Metrics
    _deliver: Callable[[Callable[[int], Event]], None]
    _when_spark_runs: Callable[[Callable[[], None]], None]
    """Function that calls its argument once Spark runs or has failed to start."""

    _chains: dict[str, OperatorChain] = field(factory=dict, init=False)
    _orders: list[commands.RunUnit] = field(factory=list, init=False)
    """Attempts that wait for Spark."""

    _on_spark: dict[tuple[str, AttemptId], int] = field(factory=dict, init=False)
    """Submission time in milliseconds, keyed by Spark task and attempt."""

    _counted: dict[tuple[str, AttemptId], Mapping[str, VertexWork]] = field(factory=dict, init=False)
    """Progress of running units that has already been counted, keyed by task and attempt."""

    def take(self, chains: Mapping[str, OperatorChain]) -> None:
        """Add the operator chains of tasks, keyed by task."""
        self._chains |= chains

    def run(self, command: commands.RunUnit) -> None:
        """Run an attempt of a work unit on Spark."""
        self._orders.append(command)
        self._when_spark_runs(self._submit_orders)

    def cancel(self, _command: commands.CancelUnits | None = None) -> None:
        """Cancel the attempts that run on Spark, if any."""
        self._orders.clear()
        if self._on_spark:
            self._on_spark.clear()
            self._counted.clear()
            self._shared.spark.result().cancel(self._work.job_id, self._work.planned.id)

    def _submit_orders(self) -> None:
        orders, self._orders = self._orders, []
        for order in orders:
            self._submit(order)

    def _submit(self, order: commands.RunUnit) -> None:
        try:
            dispatcher = self._shared.spark.result()
        except Exception as error:
            failure, attempt = failure_of(error), order.attempt.id
            self._deliver(lambda now: events.UnitFailed(now_ms=now, task=order.task, attempt=attempt, failure=failure))
            return
        self._on_spark[order.task, order.attempt.id] = now_ms()
        dispatcher.submit(
            self._chains[order.task],
            order.attempt,
            partial(self._on_result, order),
            restored=order.restored,
            on_again=lambda: self._shared.inbox.put(partial(self._begins_again, order)),
            on_progress=lambda work: self._shared.inbox.put(partial(self._progressed, order, work)),
        )

    def _progressed(self, order: commands.RunUnit, work: Mapping[str, VertexWork]) -> None:
        key = order.task, order.attempt.id
        if key in self._on_spark:
            self._count(key, work)

    def _count(self, key: tuple[str, AttemptId], work: Mapping[str, VertexWork]) -> None:
        had = self._counted.get(key, {})
        self._metrics.worked({name: each - had.get(name, VertexWork()) for name, each in work.items()})
        self._counted[key] = work
        self._note_under_way()

    def _count_ended(self, key: tuple[str, AttemptId], work: Mapping[str, VertexWork]) -> None:
        """Count the work that a finished unit has done since its last progress report, if it has reported any work."""
        if work or key in self._counted:
            self._count(key, work)
            del self._counted[key]
            self._note_under_way()

    def _note_under_way(self) -> None:
        """Record the rows that running units have read and written so far."""
        works = [(self._chains[task], work) for (task, _), work in self._counted.items() if task in self._chains]
        read = [work.get(chain.source_name, VertexWork()).rows_out for chain, work in works]
        written = [work.get(each.name, VertexWork()).rows_in for chain, work in works for each in chain.targets]
        self._metrics.under_way(rows_read=sum(read), rows_written=sum(written))

    def _on_result(self, order: commands.RunUnit, result: UnitResult) -> None:
        if result.shown and (order.task, order.attempt.id) in self._on_spark:
            self._work.show(result.shown)
        self._shared.inbox.put(partial(self._ended, order, result))

    def _ended(self, order: commands.RunUnit, result: UnitResult) -> None:
        begun_ms = self._on_spark.pop((order.task, order.attempt.id), None)
        if begun_ms is not None:
            failed = "" if result.failure is None else result.failure.kind.value
            named = {"job": self._work.job_id, "pipeline": self._work.planned.id, "task": order.task}
            record_span("unit", now_ms() - begun_ms, {**named, "rows": result.rows_read}, error=failed)
            self._count_ended((order.task, order.attempt.id), result.vertices)
        if result.facts:
            self._work.sources.progress.read(self._chains[order.task].source_name, result.facts)
        for note in result.notes:
            self._metrics.warned(note)
            _log.warning("pipeline %d, %s", result.pipeline_id, note)
        self._deliver(partial(_event, order, self._chains[order.task], result))

    def _begins_again(self, order: commands.RunUnit) -> None:
        """Report that a unit that writes directly to a target runs again, so its rows may be duplicated."""
        chain = self._chains[order.task]
        self._metrics.begun_again()
        self._notices.begun_again(order, chain.doubling)


def _event(order: commands.RunUnit, chain: OperatorChain, result: UnitResult, now: int) -> Event:
    """Return the event for the result of an attempt; ``chain`` describes the input of a failed attempt."""
    if result.failure is not None:
        return events.UnitFailed(
            now_ms=now,
            task=order.task,
            attempt=result.attempt,
            failure=result.failure,
            reading=_reading(chain, order),
        )
    return events.UnitFinished(
        now_ms=now,
        task=order.task,
        attempt=result.attempt,
        rows_read=result.rows_read,
        bytes_read=result.bytes_read,
        rows_skipped=result.rows_skipped,
        committables=dict(result.committables),
        facts=result.facts,
    )


def _reading(chain: OperatorChain, order: commands.RunUnit) -> str:
    if chain.splits is None:
        return reading(chain.source, order.attempt.unit.splits)
    return "; ".join(reading(reader.source, chain.splits[reader.name]) for reader in chain.readers)
