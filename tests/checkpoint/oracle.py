"""A small oracle that knows what a checkpoint is, and nothing of how the coordinator works."""

from attrs import define, field

from seatunnel_core.checkpoint.decisions.trigger import CheckpointPolicy
from seatunnel_core.checkpoint.state.topology import SinkSpec, SourceSpec, Topology
from seatunnel_core.checkpoint.state.vertex_id import VertexId
from seatunnel_core.checkpoint.state.vertex_state import SinkState, SourceState, TaskState

STATES: dict[VertexId, SourceState | TaskState | SinkState] = {
    VertexId.source("in"): SourceState(),
    VertexId.task("in"): TaskState(),
    VertexId.sink("out"): SinkState(),
}
TOPOLOGY = Topology(
    sources=(SourceSpec(name="in", ordinal=0, sinks=("out",), bounded=False),), sinks=(SinkSpec(name="out", ordinal=0),)
)
AFTER_FAILURE_MS = 1000


@define
class Oracle:
    """Says what must come of it."""

    policy: CheckpointPolicy
    now_ms: int = 0
    next_id: int = 2
    """1 is the restore point."""

    missing: dict[int, set[VertexId]] = field(factory=dict)
    """Of each pending checkpoint: who has not acknowledged."""

    since_ms: dict[int, int] = field(factory=dict)
    failures: int = 0
    asked: bool = False
    triggered_ms: int = 0
    not_before_ms: int = 0
    happened: list[tuple[str, int]] = field(factory=list)
    """What people are told: triggered, stored, completed, aborted, and the end."""

    ended: bool = False
    blamed: dict[int, set[VertexId]] = field(factory=dict)
    """Of each that expired before the storage had it: who was missing."""

    def ask(self) -> None:
        self.asked = True
        self.trigger_if_due()

    def trigger_if_due(self) -> None:
        due_ms = self.due_ms()
        if due_ms is not None and due_ms <= self.now_ms:
            self.happened.append(("triggered", self.next_id))
            self.missing[self.next_id] = set(STATES)
            self.since_ms[self.next_id] = self.triggered_ms = self.now_ms
            self.next_id += 1
            self.asked = False

    def due_ms(self) -> int | None:
        """When the next one is triggered if nothing else happens."""
        if self.ended or len(self.missing) == self.policy.max_concurrent:
            return None
        if self.asked:
            return max(self.now_ms, self.not_before_ms)
        if self.policy.interval_ms is None:
            return None
        return max(self.triggered_ms + self.policy.interval_ms, self.not_before_ms)

    def acknowledge(self, vertex: VertexId, checkpoint_id: int) -> None:
        if checkpoint_id in self.missing:
            self.missing[checkpoint_id].remove(vertex)
            if not self.missing[checkpoint_id]:
                self.happened.append(("stored", checkpoint_id))

    def complete(self, checkpoint_id: int) -> None:
        if checkpoint_id not in self.missing:
            return
        older = [each for each in self.missing if each < checkpoint_id]
        for each in (*older, checkpoint_id):
            del self.missing[each]
        self.happened += [("aborted", each) for each in older] + [("completed", checkpoint_id)]
        self.failures = 0
        self.not_before_ms = self.now_ms + self.policy.min_pause_ms
        self.trigger_if_due()

    def fail(self, checkpoint_id: int) -> None:
        if checkpoint_id not in self.missing:
            return
        del self.missing[checkpoint_id]
        self.happened.append(("aborted", checkpoint_id))
        self.failures += 1
        self.not_before_ms = self.now_ms + max(self.policy.min_pause_ms, AFTER_FAILURE_MS)
        if self.failures > self.policy.tolerable_failures:
            self.happened += [("aborted", each) for each in self.missing] + [("ended", 0)]
            self.missing.clear()
            self.ended = True
        else:
            self.trigger_if_due()

    def wait_until(self, now_ms: int) -> None:
        """Expiries and triggers, in the order of their times; of one millisecond, the expiry is first."""
        while not self.ended:
            instants = [(self.since_ms[each] + self.policy.timeout_ms, each) for each in self.missing]
            due_ms = self.due_ms()
            at_ms, expired = min(
                [*instants, *([] if due_ms is None else [(due_ms, 1_000_000)])], default=(now_ms + 1, 0)
            )
            if at_ms > now_ms:
                break
            self.now_ms = max(self.now_ms, at_ms)
            if expired in self.missing:
                if self.missing[expired]:
                    self.blamed[expired] = set(self.missing[expired])
                self.fail(expired)
            else:
                self.trigger_if_due()
        self.now_ms = now_ms
