"""Vertex that collects the committables of one sink and publishes them.

A sink without exactly-once semantics writes in the Spark task, so its committables need not be published (R15).
"""

from collections import deque
from collections.abc import Mapping
from itertools import islice, takewhile
from typing import assert_never

from attrs import define

from seatunnel_core.checkpoint.commands import Commit, RowsCommitted
from seatunnel_core.checkpoint.errors import IllegalEventError
from seatunnel_core.checkpoint.events import CommitFailed, CommitSucceeded
from seatunnel_core.checkpoint.state.topology import SinkSpec
from seatunnel_core.checkpoint.state.vertex_id import VertexId
from seatunnel_core.checkpoint.state.vertex_state import SinkState
from seatunnel_core.checkpoint.vertices.limits import Limits
from seatunnel_core.checkpoint.vertices.messages import (
    Acknowledge,
    Barrier,
    Broken,
    CommittableSent,
    Completed,
    Prepared,
    Pressure,
    Published,
    RestoreSink,
    SinkPressure,
    TaskToSink,
    ToSink,
)
from seatunnel_core.checkpoint.vertices.wiring import Channel, Wiring
from seatunnel_core.work.committable import Committable, added, with_tables


@define
class _Entry:
    """Committable that has not been committed successfully yet."""

    committable: Committable
    after: int
    """ID of the last barrier that arrived on the same input before the committable. Checkpoints with larger IDs contain
    the committable."""

    may_be_committed: bool
    """True if the committable may already be published: it was restored, or an earlier commit was attempted (R8)."""


class SinkVertex:
    """Vertex of one sink, with all committables that may be unpublished (R1).

    It acknowledges a barrier with these committables, and publishes the output of completed checkpoints. Inputs are not
    blocked to align barriers: a committable that arrives on an input after the barrier belongs to the next checkpoint.
    Commits run one at a time, in order of arrival, and are recorded by the ID of the committable.
    """

    def __init__(self, spec: SinkSpec, inputs: tuple[str, ...], limits: Limits, wiring: Wiring) -> None:
        self.spec = spec
        self.rows_committed = 0
        self.bytes_committed = 0
        self.table_rows: Mapping[str, int] = {}
        self._published_to: Mapping[str, str] = {}
        self._epoch = 0
        self._limits = limits
        self._wiring = wiring
        self._save_mode_pending = True
        self._prepared_in = 0
        self._waiting: dict[str, _Entry] = {}
        """Entries that no completed checkpoint contains yet, by ID, in order of arrival."""

        self._publishable: deque[_Entry] = deque()
        """Entries that a completed checkpoint contains, starting with the entries of the commit in progress."""

        self._in_flight: tuple[str, ...] = ()
        self._failures = 0
        self._pausing = False
        self.uncommitted_rows = 0
        self.uncommitted_bytes = 0
        self._passed = dict.fromkeys(inputs, 0)
        self._barriers: deque[int] = deque()
        self._published = 0
        """Number of committables published in this process."""

        self._unpublished: deque[tuple[int, int]] = deque()
        """Completed checkpoints with unpublished output, each with the value of ``_published`` at which its output is
        complete."""

        self._pressure = (False, False)
        self._since_ms = 0

    def connect(self, *, tasks: tuple[Channel, ...], coordinator: Channel) -> None:
        """Set the channels to the tasks that feed the sink and to the coordinator."""
        self._tasks = tasks
        self._coordinator = coordinator

    def receive_from(self, source: str, message: TaskToSink) -> None:
        """Handle a message from the task of ``source``."""
        match message:
            case CommittableSent(committable=committable):
                self._take(committable, after=self._passed[source])
                self._report_pressure()
            case Barrier(checkpoint_id=checkpoint_id):
                self._pass_barrier(source, checkpoint_id)
            case _:
                assert_never(message)

    def receive(self, message: ToSink) -> None:
        """Handle a message from the coordinator."""
        match message:
            case Completed(checkpoint_id=checkpoint_id):
                self._complete(checkpoint_id)
            case Prepared():
                self._save_mode_pending = False
                self._prepared_in = self._epoch
            case RestoreSink(state=state, epoch=epoch):
                self._restore(state, epoch)
            case _:
                assert_never(message)

    @property
    def uncommitted(self) -> int:
        """Number of committables that may be unpublished."""
        return len(self._waiting) + len(self._publishable)

    def doing(self) -> tuple[str, int]:
        """Return the current activity of the sink, and its start in milliseconds."""
        missing = [source for source, passed in self._passed.items() if self._barriers and passed < self._barriers[0]]
        return f"waits for the barrier from {', '.join(missing) or 'no source'}", self._since_ms

    # Collecting.

    def _take(self, committable: Committable, *, after: int) -> None:
        again = committable.epoch != self._epoch
        self._waiting[committable.id] = _Entry(committable, after, again)
        self.uncommitted_rows += committable.rows
        self.uncommitted_bytes += committable.bytes

    def _pass_barrier(self, source: str, checkpoint_id: int) -> None:
        self._passed[source] = checkpoint_id
        if not self._barriers or self._barriers[-1] < checkpoint_id:
            self._barriers.append(checkpoint_id)
            self._since_ms = self._wiring.now_ms
        passed_everywhere = min(self._passed.values())
        while self._barriers and self._barriers[0] <= passed_everywhere:
            self._acknowledge(self._barriers.popleft())

    def _acknowledge(self, checkpoint_id: int) -> None:
        self._coordinator.send(Acknowledge(VertexId.sink(self.spec.name), checkpoint_id, self.snapshot(checkpoint_id)))

    def snapshot(self, checkpoint_id: int) -> SinkState:
        """Return the state for a barrier: all earlier committables that may be unpublished, however old (R1)."""
        before = [entry.committable for entry in self._waiting.values() if entry.after < checkpoint_id]
        return SinkState(
            save_mode_pending=self._save_mode_pending,
            prepared_in=self._prepared_in,
            uncommitted=(*(entry.committable for entry in self._publishable), *before),
            rows_committed=self.rows_committed,
            bytes_committed=self.bytes_committed,
            table_rows=self.table_rows,
            published_to=self._published_to,
        )

    def _restore(self, state: SinkState, epoch: int) -> None:
        self._epoch = epoch
        self._save_mode_pending = state.save_mode_pending
        self._prepared_in = state.prepared_in
        self.rows_committed = state.rows_committed
        self.bytes_committed = state.bytes_committed
        self.table_rows = state.table_rows
        self._published_to = state.published_to
        for committable in state.uncommitted:
            self._take(committable, after=0)

    # Publishing.

    def _complete(self, checkpoint_id: int) -> None:
        contained = [entry for entry in self._waiting.values() if entry.after < checkpoint_id]
        for entry in contained:
            del self._waiting[entry.committable.id]
        self._publishable.extend(contained)
        self._unpublished.append((checkpoint_id, self._published + len(self._publishable)))
        if not self._in_flight and not self._pausing:
            self._publish()
        self._report_pressure()

    def _publish(self) -> None:
        """Commit the next committables; those that may already be published are committed separately."""
        self._settle()
        if not self._publishable:
            return
        again = self._publishable[0].may_be_committed
        batch = tuple(
            entry.committable for entry in takewhile(lambda entry: entry.may_be_committed is again, self._publishable)
        )
        self._in_flight = tuple(committable.id for committable in batch)
        self._wiring.do(Commit(sink=self.spec.name, committables=batch, may_be_committed=again))

    def require_in_flight(self, event: CommitSucceeded | CommitFailed) -> None:
        """Raise ``IllegalEventError`` unless ``event`` is the result of the commit in progress."""
        answered = event.ids if isinstance(event, CommitSucceeded) else event.committed
        awaited = self._in_flight if isinstance(event, CommitSucceeded) else self._in_flight[: len(answered)]
        if not self._in_flight or answered != awaited:
            raise IllegalEventError(
                f"sink {self.spec.name!r} is publishing {self._in_flight or 'nothing'}, not {answered}"
            )

    def succeeded(self, event: CommitSucceeded) -> None:
        """Record that the commit in progress succeeded, and start the next commit."""
        self._failures = 0
        self._in_flight = ()
        self._record(len(event.ids))
        self._publish()
        self._report_pressure()

    def succeeded_late(self, event: CommitSucceeded) -> None:
        """Count the rows of a commit that succeeded after the pipeline had ended."""
        if self._in_flight and event.ids == self._in_flight:
            self._in_flight = ()
            self._record(len(event.ids))

    def failed(self, event: CommitFailed) -> None:
        """Retry the failed commit after a pause; fail the pipeline if no retry is left or a retry would not help."""
        for entry in islice(self._publishable, len(self._in_flight)):
            entry.may_be_committed = True
        self._in_flight = ()
        self._record(len(event.committed))
        self._failures += 1
        if not event.failure.retryable or self._failures > self._limits.commit_retries:
            self._coordinator.send(Broken(event.failure))
            return
        at_ms = self._wiring.now_ms + self._limits.pause_before_retry(self._failures)
        self._wiring.set_timer(f"commit:{self.spec.name}", at_ms, self._try_again)
        self._pausing = True
        self._report_pressure()

    def _try_again(self) -> None:
        self._pausing = False
        self._publish()

    def _record(self, count: int) -> None:
        """Record the first ``count`` queued committables as published, and remove them from the state (R1)."""
        published = [self._publishable.popleft().committable for _ in range(count)]
        rows = sum(committable.rows for committable in published)
        published_bytes = sum(committable.bytes for committable in published)
        self.table_rows = added((self.table_rows, *(committable.table_rows for committable in published)))
        self._published_to = with_tables(self._published_to, published)
        self.rows_committed += rows
        self.bytes_committed += published_bytes
        self.uncommitted_rows -= rows
        self.uncommitted_bytes -= published_bytes
        self._published += count
        if count:
            self._wiring.do(
                RowsCommitted(sink=self.spec.name, rows=rows, bytes=published_bytes, total_rows=self.rows_committed)
            )

    def _settle(self) -> None:
        while self._unpublished and self._unpublished[0][1] <= self._published:
            checkpoint_id, _ = self._unpublished.popleft()
            self._coordinator.send(Published(self.spec.name, checkpoint_id))

    # The bound (R1).

    def _report_pressure(self) -> None:
        full = (
            self.uncommitted >= self._limits.max_uncommitted
            or self.uncommitted_bytes >= self._limits.max_uncommitted_bytes
        )
        pressure = (full, full and bool(self._waiting))
        if pressure == self._pressure:
            return
        if full != self._pressure[0]:
            for task in self._tasks:
                task.send(SinkPressure(self.spec.name, full))
        self._pressure = pressure
        reason = (
            f"sink {self.spec.name!r} holds {self.uncommitted} committables ({self.uncommitted_bytes} bytes) "
            f"that are not published yet; sources wait until the sink has published some of them"
        )
        self._coordinator.send(Pressure(self.spec.name, full, pressure[1], reason if full else ""))
