"""Vertex that emits the splits of one source."""

from collections import deque
from typing import assert_never

from attrs import evolve

from seatunnel_core.checkpoint.commands import Enumerate
from seatunnel_core.checkpoint.errors import IllegalEventError
from seatunnel_core.checkpoint.events import Enumerated, Found, PollFailed
from seatunnel_core.checkpoint.state.topology import SourceSpec
from seatunnel_core.checkpoint.state.vertex_id import VertexId
from seatunnel_core.checkpoint.state.vertex_state import SourceState
from seatunnel_core.checkpoint.vertices.limits import Limits
from seatunnel_core.checkpoint.vertices.messages import (
    Acknowledge,
    Barrier,
    Begin,
    Broken,
    Correction,
    Credit,
    FactsAbsorbed,
    FactsReported,
    Halt,
    Plan,
    RestoreSource,
    SourceEnded,
    SourceReady,
    SplitSent,
    ToSource,
)
from seatunnel_core.checkpoint.vertices.polling import Polling
from seatunnel_core.checkpoint.vertices.speed_limit import SAVED_UP_MS, TokenBucket
from seatunnel_core.checkpoint.vertices.wiring import Channel, Wiring
from seatunnel_core.work.fact import Fact
from seatunnel_core.work.split import Split


class SourceVertex:
    """Vertex of one source: emits splits in the order of the stored enumeration.

    Each split needs a credit (R3) and must be within the speed limit. The state is the position in the enumeration and
    the splits found since (R12). An unbounded source is polled whenever no split is left to emit; new splits and the
    new cursor become part of the state together. Barriers need no credit, so they never wait for data (R3).
    """

    def __init__(self, spec: SourceSpec, limits: Limits, wiring: Wiring) -> None:
        self.spec = spec
        self.state = SourceState()
        self.ended = False
        self._wiring = wiring
        self._splits: deque[Split] = deque()
        """Known splits that have not been emitted yet."""
        self._cursor = 0
        self._credits = 0
        self._running = False
        self._awaiting_enumeration = False
        self._polling = None if spec.bounded else Polling(spec.name, limits, wiring)
        self._limited = spec.rows_per_second is not None or spec.bytes_per_second is not None
        self._rows_bucket: TokenBucket | None = None
        self._bytes_bucket: TokenBucket | None = None
        self._looking_again_ms: int | None = None
        self._since_ms = 0

    def connect(self, *, task: Channel, coordinator: Channel) -> None:
        """Set the channels to the task of the source and to the coordinator."""
        self._task = task
        self._coordinator = coordinator

    def receive(self, message: ToSource) -> None:
        """Handle a message from the coordinator or the task."""
        match message:
            case Credit(splits=splits):
                self._credits += splits
                self._emit()
            case Barrier(checkpoint_id=checkpoint_id):
                self._pass_barrier(message, checkpoint_id)
            case Correction(rows=rows, bytes=read_bytes):
                self._correct(rows, read_bytes)
            case FactsReported(facts=facts):
                self._learn(facts)
            case Halt():
                self._halt()
            case RestoreSource(state=state):
                self.state = state
                self._cursor = state.cursor
                if self._polling is not None:
                    self._polling.memory = state.memory or {}
            case Plan():
                self._plan()
            case Begin():
                self._begin()
            case _:
                assert_never(message)

    def require_awaited(self, event: Enumerated) -> None:
        """Raise ``IllegalEventError`` unless ``event`` is the requested enumeration, numbered without gaps."""
        if not self._awaiting_enumeration:
            raise IllegalEventError(f"source {event.source!r} received splits without a request")
        if self.state.attachment not in (None, event.attachment):
            raise IllegalEventError(
                f"source {event.source!r} was enumerated as {self.state.attachment!r}, but its enumeration is now "
                f"{event.attachment!r}"
            )
        if self.state.total not in (None, len(event.splits)):
            raise IllegalEventError(
                f"source {event.source!r} was enumerated with {self.state.total} splits, but has "
                f"{len(event.splits)} now"
            )
        for index, split in enumerate(event.splits):
            if split.index != index:
                raise IllegalEventError(
                    f"the splits of source {event.source!r} must be numbered from 0 without gaps; "
                    f"number {split.index} is at position {index}"
                )

    def enumerated(self, event: Enumerated) -> None:
        """Queue the splits that still have to be emitted, and report that the source is ready."""
        self._awaiting_enumeration = False
        self._splits = deque((*event.splits[self._cursor :], *self.state.waiting))
        memory = None if self._polling is None else self._polling.memory
        self.state = evolve(self.state, attachment=event.attachment, total=len(event.splits), memory=memory)
        self._coordinator.send(SourceReady(self.spec.name, len(event.splits)))

    def require_polling(self, event: Found | PollFailed) -> None:
        """Raise ``IllegalEventError`` unless ``event`` is the result of a poll, with splits numbered without gaps."""
        if self._polling is None or not self._polling.is_under_way:
            raise IllegalEventError(f"source {event.source!r} reported new splits without a request")
        found = event.splits if isinstance(event, Found) else ()
        first = self._next_index
        if [split.index for split in found] != list(range(first, first + len(found))):
            raise IllegalEventError(f"the splits that source {event.source!r} found must be numbered from {first}")

    def found(self, event: Found) -> None:
        """Queue the splits that a poll found, and emit as many as allowed, unless the source has stopped.

        Splits found after the last barrier or after the end are found again by the next start.
        """
        assert self._polling is not None
        if not self._running:
            return
        self._splits.extend(event.splits)
        self._absorbed(self._polling.found(event, self._go_on))
        self._go_on()

    def poll_failed(self, event: PollFailed) -> None:
        """Poll again after a pause; fail the pipeline after a permanent failure."""
        assert self._polling is not None
        if not self._running:
            return
        if event.failure.retryable:
            self._polling.failed(self._go_on)
        else:
            self._coordinator.send(Broken(event.failure))

    def doing(self) -> tuple[str, int]:
        """Return the current activity of the source, and its start in milliseconds."""
        of_all = "" if self._polling is not None else f" of {self.state.total}"
        return f"has emitted {self._cursor}{of_all} splits", self._since_ms

    @property
    def splits_total(self) -> int | None:
        """Number of splits; ``None`` before the enumeration and for an unbounded source."""
        return None if self._polling is not None else self.state.total

    @property
    def _next_index(self) -> int:
        """Index for the first split that the next poll finds."""
        return max(self._cursor, self.state.total or 0) + len(self._found_and_waiting())

    def _found_and_waiting(self) -> tuple[Split, ...]:
        return tuple(split for split in self._splits if split.index >= (self.state.total or 0))

    def _plan(self) -> None:
        """Request the enumeration, even if all its splits were emitted: units in flight need its schemas."""
        self._awaiting_enumeration = True
        state = self.state
        memory = state.memory or {}
        self._wiring.do(Enumerate(source=self.spec.name, attachment=state.attachment, total=state.total, memory=memory))

    def _learn(self, facts: tuple[Fact, ...]) -> None:
        """Keep facts for the next poll, and poll at once."""
        assert self._polling is not None
        self._absorbed(self._polling.learn(facts))
        self._when_empty()

    def _absorbed(self, facts: int) -> None:
        """Allow the task to drop its ``facts`` oldest facts, because the cursor contains them.

        The message follows every barrier with the old cursor and precedes every barrier with the new one, so each
        checkpoint contains a fact exactly once (R17).
        """
        if facts:
            self._task.send(FactsAbsorbed(facts))

    def _begin(self) -> None:
        now_ms = self._since_ms = self._wiring.now_ms
        self._rows_bucket = _bucket(self.spec.rows_per_second, now_ms)
        self._bytes_bucket = _bucket(self.spec.bytes_per_second, now_ms)
        self._running = True
        weight_bytes = sum(split.weight_bytes for split in self._splits)
        self._task.send(Begin(to_come_bytes=weight_bytes, to_come_splits=len(self._splits)))
        self._when_empty()

    def _emit(self) -> None:
        while self._running and self._credits and self._splits:
            if self._limited and not self._within_limit():
                return
            split = self._splits.popleft()
            self._cursor += 1
            self._credits -= 1
            self._since_ms = self._wiring.now_ms
            if self._limited:
                self._charge(split.rows, split.weight_bytes)
            self._task.send(SplitSent(split))
            self._when_empty()

    def _go_on(self) -> None:
        self._emit()
        self._when_empty()

    def _when_empty(self) -> None:
        if self._splits or not self._running:
            return
        if self._polling is None or self._polling.has_all:
            self._halt()
        else:
            self._polling.poll(self._next_index)

    def _halt(self) -> None:
        if not self.ended:
            self.ended = True
            self._running = False
            self._task.send(SourceEnded())

    def _pass_barrier(self, barrier: Barrier, checkpoint_id: int) -> None:
        self.state = evolve(self.state, cursor=self._cursor)
        if self._polling is not None:
            self.state = evolve(self.state, waiting=self._found_and_waiting(), memory=self._polling.memory)
        self._coordinator.send(Acknowledge(VertexId.source(self.spec.name), checkpoint_id, self.state))
        self._task.send(barrier)
        if barrier.last:
            self._running = False

    # The speed limit: splits are charged by their estimate when they are emitted, and corrected when they are read.

    def _charge(self, rows: int, read_bytes: int) -> None:
        if self._rows_bucket is not None:
            self._rows_bucket = self._rows_bucket.charge(rows)
        if self._bytes_bucket is not None:
            self._bytes_bucket = self._bytes_bucket.charge(read_bytes)

    def _correct(self, rows: int, read_bytes: int) -> None:
        """Charge the difference between the actual size of a unit and its estimate; a negative difference is a refund.

        Tokens for the elapsed time are added first, so that their limit does not reduce the refund.
        """
        self._look_at_buckets()
        self._charge(rows, read_bytes)

    def _look_at_buckets(self) -> None:
        now_ms = self._wiring.now_ms
        if self._rows_bucket is not None:
            self._rows_bucket = self._rows_bucket.at(now_ms)
        if self._bytes_bucket is not None:
            self._bytes_bucket = self._bytes_bucket.at(now_ms)

    def _within_limit(self) -> bool:
        """Return True if a split may be emitted now; otherwise set a timer."""
        self._look_at_buckets()
        buckets = (self._rows_bucket, self._bytes_bucket)
        ready_ms = max(bucket.ready_ms() for bucket in buckets if bucket is not None)
        if ready_ms <= self._wiring.now_ms:
            return True
        if self._looking_again_ms != ready_ms:
            self._looking_again_ms = ready_ms
            self._wiring.set_timer(f"emit:{self.spec.name}", ready_ms, self._look_again)
        return False

    def _look_again(self) -> None:
        self._looking_again_ms = None
        self._emit()


def _bucket(per_second: int | None, now_ms: int) -> TokenBucket | None:
    if per_second is None:
        return None
    return TokenBucket(per_second=per_second, burst_ms=SAVED_UP_MS, updated_ms=now_ms)
