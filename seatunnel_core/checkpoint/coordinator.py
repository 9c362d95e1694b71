"""Coordinator that starts one pipeline, takes its checkpoints and ends it.

R1, R2, … in the comments are rules in ``docs/design/checkpoint-protocol.md``. The handlers receive events or messages,
and send commands and messages through the wiring.
"""

from collections.abc import Callable
from typing import assert_never

from seatunnel_core.checkpoint import events
from seatunnel_core.checkpoint.commands import (
    AbortKind,
    CancelUnits,
    CheckpointAborted,
    CheckpointCompleted,
    CheckpointTriggered,
    EndPipeline,
    Outcome,
)
from seatunnel_core.checkpoint.context import PipelineContext
from seatunnel_core.checkpoint.decisions.base import RestoreRequest
from seatunnel_core.checkpoint.decisions.trigger import CheckpointPolicy, Situation, decide
from seatunnel_core.checkpoint.ending import Ending
from seatunnel_core.checkpoint.errors import IllegalEventError, StateFormatError
from seatunnel_core.checkpoint.health import Health
from seatunnel_core.checkpoint.pending import PendingCheckpoint
from seatunnel_core.checkpoint.publish_times import PublishTimes
from seatunnel_core.checkpoint.savepoint import Savepoints
from seatunnel_core.checkpoint.start import Start
from seatunnel_core.checkpoint.state.vertex_id import VertexId
from seatunnel_core.checkpoint.transitions import BEFORE_RUNNING, Phase
from seatunnel_core.checkpoint.vertices.messages import (
    Acknowledge,
    Barrier,
    Begin,
    Broken,
    Drained,
    Halt,
    Pressure,
    Published,
    SourceReady,
    ToCoordinator,
)
from seatunnel_core.work.failure import Failure, FailureKind
from seatunnel_storage_api.errors import StaleEpochError
from seatunnel_storage_api.state import CheckpointType


class Coordinator:
    """Coordinator of the checkpoints of one pipeline.

    A checkpoint is a distributed snapshot as defined by Chandy and Lamport. The coordinator injects a barrier (their
    marker) at every source. Each vertex that receives the barrier records its state, reports it with ``Acknowledge``
    and forwards the barrier on every channel. The state of a channel consists of the units in flight in a task:
    running, waiting or held back for order (R2). After the last acknowledgement, the states are stored as a checkpoint.
    When it is durable and no newer epoch exists (R5), the sinks may publish its output (R1).

    K. M. Chandy and L. Lamport, "Distributed Snapshots: Determining Global States of Distributed Systems", ACM
    Transactions on Computer Systems 3(1), 1985.
    """

    def __init__(
        self,
        context: PipelineContext,
        *,
        epoch_minimum: int,
        policy: CheckpointPolicy,
        restore: RestoreRequest,
        doing: Callable[[VertexId], tuple[str, int]],
    ) -> None:
        """Create the coordinator; ``doing`` returns the current activity of a vertex and its start in milliseconds."""
        self.start = Start(
            context,
            epoch_minimum=epoch_minimum,
            timeout_ms=policy.restore_timeout_ms,
            restore=restore,
            end=self._end,
            running=self._run,
        )
        self._savepoints = Savepoints(context, timeout_ms=policy.timeout_ms, over=self._end_when_all_is_published)
        self.health = Health(context.wiring, policy, under_way=self._under_way)
        self.pending: dict[int, PendingCheckpoint] = {}
        """Pending checkpoints, oldest first."""

        self._context = context
        self._wiring = context.wiring
        self._policy = policy
        self._doing = doing
        self._next_id = 1
        self._undrained = {source.name for source in context.topology.sources}
        self._publish_times = PublishTimes(context)
        self._trigger_asked = False
        self._ending = Ending.NOT_ASKED
        self._failures = 0
        self._last_trigger_ms = 0
        self._last_end_ms: int | None = None

    def receive(self, message: ToCoordinator) -> None:
        """Handle a message from a vertex."""
        match message:
            case Acknowledge():
                self._acknowledged(message)
            case Pressure():
                self.health.pressed(message)
                self._consider()
            case Published(sink=sink, checkpoint_id=checkpoint_id):
                self._sink_published(sink, checkpoint_id)
            case Drained(task=task):
                self._undrained.discard(task)
                self._consider()
            case SourceReady(source=source):
                self.start.source_ready(source)
            case Broken(failure=failure):
                self._end(Outcome.FAILED, failure)
            case _:
                assert_never(message)

    # ---- Checkpoints. ----

    def _run(self) -> None:
        """Let the sources emit splits, and start the checkpoint interval."""
        self._context.enter(Phase.RUNNING)
        self._next_id = self._context.base.restore_point_id + 1
        self._last_trigger_ms = self._wiring.now_ms
        self.health.begin()
        self._context.tell_sources(Begin())
        self._end_as_asked()
        self._consider()

    def trigger_requested(self, _event: events.TriggerRequested) -> None:
        """Take a checkpoint before the interval has passed, as soon as the policy allows it."""
        self._trigger_asked = True
        self._consider()

    def _consider(self) -> None:
        """Trigger a checkpoint if the policy requires one now; otherwise set a timer for the next decision."""
        if self._context.phase is not Phase.RUNNING or self._pending_final is not None:
            return
        final = not self._undrained
        if final and self._ending is Ending.DRAIN:
            self._begin_stop()
            return
        pressed = not self.pending and self.health.uncovered
        decision = decide(
            self._policy,
            Situation(
                now_ms=self._wiring.now_ms,
                pending=len(self.pending),
                last_trigger_ms=self._last_trigger_ms,
                last_end_ms=self._last_end_ms,
                last_failed=self.health.last_failed,
                asked=self._trigger_asked or self._savepoints.asked or pressed,
                final=final,
            ),
        )
        if decision.trigger:
            self._trigger(CheckpointType.COMPLETED_POINT if final else CheckpointType.CHECKPOINT)
            self._consider()
        elif decision.look_again_ms is not None:
            self._wiring.set_timer("trigger", decision.look_again_ms, self._consider)
        else:
            self._wiring.cancel_timer("trigger")

    def _trigger(self, checkpoint_type: CheckpointType, *, last: bool = False) -> None:
        """Add a pending checkpoint and its timeout, then inject the barrier at every source."""
        now_ms = self._wiring.now_ms
        checkpoint_id = self._next_id
        self._trigger_asked = False
        self._last_trigger_ms = now_ms
        vertices = self._context.topology.vertices
        pending = PendingCheckpoint(checkpoint_id, checkpoint_type, vertices=vertices, triggered_ms=now_ms)
        pending.savepoints = self._savepoints.take_asked(last=last or pending.is_final)
        self._next_id += 2 if pending.savepoints else 1  # they are stored under the following ID
        self.pending[checkpoint_id] = pending
        timeout_at_ms = now_ms + self._policy.timeout_ms
        self._wiring.set_timer(f"expire:{checkpoint_id}", timeout_at_ms, lambda: self._expire(pending))
        self._wiring.do(CheckpointTriggered(checkpoint_id=checkpoint_id, checkpoint_type=checkpoint_type))
        self._context.tell_sources(Barrier(checkpoint_id, last))

    def _acknowledged(self, message: Acknowledge) -> None:
        """Record the state of one vertex; after the last vertex, store the checkpoint. Ignore an aborted checkpoint."""
        pending = self.pending.get(message.checkpoint_id)
        if pending is None or not pending.acknowledge(message.vertex, message.state):
            return
        if self._context.phase is Phase.STOPPING:
            self._wiring.do(CancelUnits())
        try:
            state_bytes = self._context.store(pending.checkpoint_id, pending.checkpoint_type, pending.states())
        except StateFormatError as error:
            self._close(pending)
            self._notice_abort(pending, AbortKind.UNWRITABLE, str(error))
            unwritten = f"checkpoint {pending.checkpoint_id} cannot be written: {error}"
            self._end(Outcome.FAILED, Failure(kind=FailureKind.BUG, message=unwritten))
            return
        pending.storing_since_ms = self._wiring.now_ms
        pending.state_bytes = state_bytes

    def checkpoint_stored(self, event: events.CheckpointStored) -> None:
        """Handle a restore point, checkpoint or savepoint that is durable and not superseded by a newer epoch (R5)."""
        if self._context.phase is Phase.RESTORING:
            self.start.restore_point_stored()
            return
        pending = self.pending.get(event.ref.checkpoint_id)
        if pending is not None:
            self._complete(pending)
        else:
            self._savepoints.stored(event.ref)

    def require_own(self, event: events.CheckpointStored) -> None:
        """Raise ``IllegalEventError`` unless this epoch requested to store the checkpoint."""
        restoring = self._context.phase is Phase.RESTORING
        is_restore_point = event.ref.checkpoint_id == self._context.base.restore_point_id
        pending = self.pending.get(event.ref.checkpoint_id)
        too_early = pending is not None and pending.storing_since_ms is None
        if event.ref.epoch != self._context.epoch or (restoring and not is_restore_point) or too_early:
            raise IllegalEventError(
                f"checkpoint {event.ref} was stored, but epoch {self._context.epoch} did not request it"
            )

    def _complete(self, pending: PendingCheckpoint) -> None:
        """Complete a checkpoint: abort older pending ones, and make the sinks publish its output."""
        assert pending.storing_since_ms is not None
        self._close(pending)
        for older in [other for other in self.pending.values() if other.checkpoint_id < pending.checkpoint_id]:
            self._close(older)
            self._notice_abort(older, AbortKind.SUBSUMED, f"subsumed by checkpoint {pending.checkpoint_id}")
        self._failures = 0
        self._context.mark_completed(pending.checkpoint_id)
        self._wiring.do(
            CheckpointCompleted(
                checkpoint_id=pending.checkpoint_id,
                checkpoint_type=pending.checkpoint_type,
                acknowledge_ms=pending.storing_since_ms - pending.triggered_ms,
                store_ms=self._wiring.now_ms - pending.storing_since_ms,
                state_bytes=pending.state_bytes,
            )
        )
        self.health.completed(last=pending.is_final or self._context.phase is Phase.STOPPING)
        self._publish_times.completed(pending.checkpoint_id)
        if pending.is_final:
            self._context.enter(Phase.FINISHING)
        if pending.savepoints:
            self._savepoints.completed(pending.checkpoint_id, pending.savepoints, pending.states())
        self._context.publish(pending.checkpoint_id)
        self._consider()

    def _expire(self, pending: PendingCheckpoint) -> None:
        """Abort a checkpoint that exceeded its timeout; the reason lists each vertex that did not acknowledge it."""
        age_ms = self._wiring.now_ms - pending.triggered_ms
        reason = f"expired after {age_ms} ms: {pending.awaited(self._wiring.now_ms, self._doing)}"
        self._abort(pending, AbortKind.EXPIRED, Failure(kind=FailureKind.STORAGE, message=reason))

    def _under_way(self) -> str:
        """Describe the oldest pending checkpoint; return ``""`` if there is none."""
        oldest = next(iter(self.pending.values()), None)
        if oldest is None:
            return ""
        age_ms = self._wiring.now_ms - oldest.triggered_ms
        awaited = oldest.awaited(self._wiring.now_ms, self._doing)
        return f"checkpoint {oldest.checkpoint_id} has been in progress for {age_ms} ms: {awaited}"

    def storage_failed(self, event: events.StorageFailed) -> None:
        """Abort the checkpoint that could not be stored; end the pipeline if it is not running yet."""
        if self._context.phase in BEFORE_RUNNING:
            self._end(Outcome.FAILED, event.failure)
            return
        assert event.ref is not None
        pending = self.pending.get(event.ref.checkpoint_id)
        if pending is not None:
            self._abort(pending, AbortKind.STORAGE, event.failure)
        else:
            self.health.learned(f"storing checkpoint {event.ref.checkpoint_id} failed: {event.failure.message}")
            self._savepoints.store_failed(event.ref, event.failure.message)

    def _abort(self, pending: PendingCheckpoint, kind: AbortKind, failure: Failure) -> None:
        """Abort a pending checkpoint, and fail the pipeline if too many consecutive checkpoints have failed.

        Units and committables remain, so the next checkpoint includes them (R1, R2). A pipeline that is stopping ends
        with its last stored checkpoint.
        """
        self._close(pending)
        self.health.failed(f"checkpoint {pending.checkpoint_id} failed: {failure.message}")
        self._failures += 1
        self._notice_abort(pending, kind, failure.message)
        if self._is_stopping:
            self._end(Outcome.STOPPED, failure)
        elif self._failures > self._policy.tolerable_failures:
            message = (
                f"the number of consecutive failed checkpoints, {self._failures}, exceeds the limit of "
                f"{self._policy.tolerable_failures}; checkpoint {pending.checkpoint_id} failed: {failure.message}"
            )
            self._end(Outcome.FAILED, Failure(kind=failure.kind, message=message, code=failure.code))
        else:
            self._consider()

    def _close(self, pending: PendingCheckpoint) -> None:
        del self.pending[pending.checkpoint_id]
        self._last_end_ms = self._wiring.now_ms
        self._wiring.cancel_timer(f"expire:{pending.checkpoint_id}")

    def _notice_abort(self, pending: PendingCheckpoint, kind: AbortKind, reason: str) -> None:
        self._wiring.do(CheckpointAborted(checkpoint_id=pending.checkpoint_id, kind=kind, reason=reason))
        self._savepoints.refuse(pending.savepoints, f"checkpoint {pending.checkpoint_id} was aborted: {reason}")

    # ---- The end. ----

    def _sink_published(self, sink: str, checkpoint_id: int) -> None:
        """Record that a sink has published all output of a checkpoint; after the last sink, continue or end."""
        self._savepoints.published(sink, checkpoint_id)
        self._publish_times.published(sink, checkpoint_id)
        if checkpoint_id == self._context.publishing:
            self._context.unpublished.discard(sink)
        if self._context.phase is Phase.COMMITTING_BASE and not self._context.unpublished:
            self.start.base_committed()
        else:
            self._end_when_all_is_published()

    def _end_when_all_is_published(self) -> None:
        if self._context.unpublished or self._savepoints.open:
            return
        if self._context.phase is Phase.FINISHING:
            self._context.complete()
        elif self._context.phase is Phase.STOPPING and not self.pending:
            self._end(Outcome.STOPPED)

    def completed(self, _event: events.Completed) -> None:
        """Run the last sweep, which may also remove data that the sinks needed until they completed."""
        self._context.clean()

    def swept(self, _event: events.Swept) -> None:
        """Continue the start after its sweep, or finish the pipeline after the last sweep."""
        if self._context.phase is Phase.CLEANING:
            self._end(Outcome.FINISHED)
        else:
            self.start.swept()

    def stop_requested(self, _event: events.StopRequested) -> None:
        """Stop after a final checkpoint, within a bounded time, even if no checkpoint interval is set.

        A pipeline that is not running yet ends at once. A pipeline with a pending final checkpoint finishes instead.
        """
        if self._context.phase in BEFORE_RUNNING:
            self._end(Outcome.STOPPED)
            return
        self._begin_stop()

    def _begin_stop(self) -> None:
        if self._is_stopping:
            return
        self._ending = Ending.BEGUN
        self._wiring.set_timer("stop", self._wiring.now_ms + self._policy.timeout_ms, self._stop_took_too_long)
        if self._context.phase is Phase.RUNNING and self._pending_final is None:
            self._take_last()

    def _take_last(self) -> None:
        """Trigger the final checkpoint. It replaces all pending ones, and their savepoints are taken with it."""
        for pending in list(self.pending.values()):
            for name in pending.savepoints:
                self._savepoints.ask(name)
            pending.savepoints = ()
            self._close(pending)
            self._notice_abort(
                pending, AbortKind.REPLACED, "the pipeline is stopping; its final checkpoint replaces this checkpoint"
            )
        self._context.enter(Phase.STOPPING)
        self._wiring.cancel_timer("trigger")
        self._trigger(CheckpointType.CHECKPOINT, last=True)

    def savepoint_requested(self, event: events.SavepointRequested) -> None:
        """Take a savepoint with the next checkpoint, or with the final one if the request ends the pipeline.

        A pipeline that is ending rejects the request.
        """
        if self._is_stopping or self._context.phase in (Phase.FINISHING, Phase.COMPLETING, Phase.CLEANING):
            self._savepoints.refuse((event.name,), "the pipeline is already ending")
            return
        final = self._pending_final
        if final is not None:
            final.savepoints = (*final.savepoints, event.name)
            return
        self._savepoints.ask(event.name, of_the_last=event.drain)
        if event.drain:
            self._ending = max(self._ending, Ending.DRAIN)
        elif event.stop:
            self._ending = Ending.STOP
        if self._context.phase is Phase.RUNNING:
            self._end_as_asked()
            self._consider()

    def _end_as_asked(self) -> None:
        """Stop or drain the pipeline if this was requested, possibly before the pipeline was running."""
        if self._ending is Ending.STOP:
            self._begin_stop()
        elif self._ending is Ending.DRAIN:
            self._context.tell_sources(Halt())

    def _stop_took_too_long(self) -> None:
        """End a pipeline that did not stop in time. The next start publishes the remaining output (R4)."""
        oldest = next(iter(self.pending.values()), None)
        if oldest is None:
            self._end(Outcome.STOPPED)
        else:
            self._expire(oldest)  # this ends a pipeline that is stopping

    def fence_lost(self, event: events.FenceLost) -> None:
        """End the pipeline because a newer engine runs the job: commit and expire nothing, and report why (R5)."""
        self._end(Outcome.FENCED, Failure(kind=FailureKind.STORAGE, message=event.message, code=StaleEpochError.code))

    def _end(self, outcome: Outcome, failure: Failure | None = None) -> None:
        for pending in self.pending.values():
            self._notice_abort(pending, AbortKind.ENDED, "the pipeline ended")
        self.pending.clear()
        self._savepoints.end("the pipeline ended before" if failure is None else failure.message)
        if self._context.phase in (Phase.RUNNING, Phase.STOPPING):
            self._wiring.do(CancelUnits())
        self._context.enter(Phase.ENDED)
        self._wiring.do(EndPipeline(outcome=outcome, failure=failure))
        self._wiring.end()

    # ---- Helpers. ----

    @property
    def _is_stopping(self) -> bool:
        return self._ending is Ending.BEGUN

    @property
    def _pending_final(self) -> PendingCheckpoint | None:
        return next((pending for pending in self.pending.values() if pending.is_final), None)
