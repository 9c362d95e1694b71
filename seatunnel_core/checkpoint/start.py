"""Start or restart of a pipeline, always in the same sequence (R4)."""

from collections.abc import Callable

from seatunnel_core.checkpoint import events
from seatunnel_core.checkpoint.commands import (
    ClaimEpoch,
    EpochStarted,
    ListCheckpoints,
    ListPublished,
    LoadCheckpoint,
    Outcome,
    PrepareSinks,
    Retract,
    Sweep,
)
from seatunnel_core.checkpoint.context import PipelineContext
from seatunnel_core.checkpoint.decisions.base import RestoreRequest, damaged
from seatunnel_core.checkpoint.decisions.restored import (
    choose,
    must_list_published,
    require_known,
    restored,
    superseded,
)
from seatunnel_core.checkpoint.decisions.retracting import retractions
from seatunnel_core.checkpoint.errors import IllegalEventError, RestoreRefusedError, StateFormatError
from seatunnel_core.checkpoint.state import codec
from seatunnel_core.checkpoint.state.vertex_state import VertexStates
from seatunnel_core.checkpoint.transitions import Phase
from seatunnel_core.checkpoint.vertices.messages import Plan, Prepared, RestoreSink, RestoreSource, RestoreTask
from seatunnel_core.work.failure import Failure, FailureKind
from seatunnel_storage_api.errors import CheckpointCorruptedError, StaleEpochError, StorageUnavailableError
from seatunnel_storage_api.state import CheckpointType

End = Callable[[Outcome, Failure | None], None]


class Start:
    """Start of one pipeline.

    It claims an epoch, lists the checkpoints, chooses one, and stores the restore point (R4a to R4e in
    ``docs/design/checkpoint-protocol.md``). After that, it prepares the sinks, commits and sweeps staged output, rolls
    back if requested, and enumerates the sources.
    """

    def __init__(
        self,
        context: PipelineContext,
        *,
        epoch_minimum: int,
        timeout_ms: int,
        restore: RestoreRequest,
        end: End,
        running: Callable[[], None],
    ) -> None:
        """Create the start. It calls ``end`` if it fails, and ``running`` when splits may be emitted."""
        self._context = context
        self._wiring = context.wiring
        self._epoch_minimum = epoch_minimum
        self._timeout_ms = timeout_ms
        self._restore = restore
        self._end = end
        self._running = running
        self._restored = VertexStates()
        self._remaining = restore
        self._unready: set[str] = set()

    def started(self, _event: events.Started) -> None:
        """Claim an epoch (R4a)."""
        self._context.enter(Phase.CLAIMING)
        self._wiring.do(ClaimEpoch(minimum=self._epoch_minimum))

    def require_large_enough(self, event: events.EpochClaimed) -> None:
        """Raise ``IllegalEventError`` if the claimed epoch is below the requested minimum."""
        if event.epoch < self._epoch_minimum:
            raise IllegalEventError(f"epoch {event.epoch} was claimed; expected at least {self._epoch_minimum}")

    def epoch_claimed(self, event: events.EpochClaimed) -> None:
        """List the stored checkpoints. From now on, an older engine finds the marker of this epoch and stops (R4a)."""
        self._context.epoch = event.epoch
        self._context.enter(Phase.LISTING)
        self._wiring.do(ListCheckpoints())

    def checkpoints_listed(self, event: events.CheckpointsListed) -> None:
        """Choose the checkpoint and load it; end as fenced if a newer engine has claimed the pipeline (R4b, R4c)."""
        context = self._context
        if message := superseded(context.epoch, event.newest_epoch, event.checkpoints):
            self._end(Outcome.FENCED, Failure(kind=FailureKind.STORAGE, message=message, code=StaleEpochError.code))
            return
        self._remaining = self._restore.as_of(event.checkpoints)
        try:
            context.base = choose(event.checkpoints, self._remaining, context.topology)
            if context.base.cut is not None:
                context.enter(Phase.LOADING)
                self._wiring.do(LoadCheckpoint(ref=context.base.cut.ref))
            else:
                self._use(None)
        except RestoreRefusedError as error:
            self._fail(FailureKind.USAGE, str(error), error.code)

    def require_asked_for(self, event: events.CheckpointLoaded) -> None:
        """Raise ``IllegalEventError`` unless the loaded checkpoint is the requested one."""
        asked = None if self._context.base.cut is None else self._context.base.cut.ref
        if event.state.ref != asked:
            raise IllegalEventError(f"checkpoint {event.state.ref} was loaded; expected {asked}")

    def checkpoint_loaded(self, event: events.CheckpointLoaded) -> None:
        """Restore the vertices from the loaded checkpoint."""
        try:
            self._use(codec.decode(event.state.states))
        except (RestoreRefusedError, StateFormatError) as error:
            self._fail(FailureKind.USAGE, f"checkpoint {event.state.ref} cannot be restored: {error}", error.code)

    def _use(self, states: VertexStates | None) -> None:
        """Match the loaded states with the job, and store the result as the restore point."""
        context = self._context
        judged = restored(states, context.base, self._restore, context.topology)
        self._restored, context.is_extended = judged.states, judged.is_extended
        self._recognise()

    def checkpoint_damaged(self, event: events.CheckpointDamaged) -> None:
        """Fail the start: the checkpoint cannot be read, and only the user can choose an older one (R10)."""
        is_latest = self._context.base.rewind is None
        message = damaged(event.ref, latest=is_latest, intact=event.intact, reason=event.message)
        self._fail(FailureKind.USAGE, message, CheckpointCorruptedError.code)

    def _recognise(self) -> None:
        """Query the targets' published output if the checkpoint must contain it; otherwise store the restore point."""
        if not must_list_published(self._remaining, self._restored, is_final=self._context.base_is_final):
            self._store_restore_point()
            return
        self._context.enter(Phase.RECOGNISING)
        self._wiring.do(ListPublished(epoch=self._context.epoch))

    def published_listed(self, event: events.PublishedListed) -> None:
        """Store the restore point; fail the start if a target has output that the checkpoint does not contain (R10)."""
        context = self._context
        try:
            require_known(
                event.published,
                self._restored,
                context.topology,
                job_id=context.job_id,
                epoch=context.epoch,
                base=context.base.ref,
            )
        except RestoreRefusedError as error:
            self._fail(FailureKind.USAGE, str(error), error.code)
        else:
            self._store_restore_point()

    def _store_restore_point(self) -> None:
        """Store the restored state as the epoch's first checkpoint (R4d); it is final for a finished pipeline (R7)."""
        self._context.enter(Phase.RESTORING)
        self._wiring.set_timer("restore", self._wiring.now_ms + self._timeout_ms, self._restore_point_expired)
        kind = CheckpointType.COMPLETED_POINT if self._context.base_is_final else CheckpointType.RESTORE_POINT
        self._context.store(self._context.base.restore_point_id, kind, self._restored)

    def _restore_point_expired(self) -> None:
        message = f"the restore point was not stored within {self._timeout_ms} ms"
        self._fail(FailureKind.STORAGE, message, StorageUnavailableError.code)

    def restore_point_stored(self) -> None:
        """Restore the vertices and prepare the sinks: the restore point is durable, and no newer epoch exists (R4e).

        Before this, only the checkpoint storage may be accessed.
        """
        self._wiring.cancel_timer("restore")
        self._context.mark_completed(self._context.base.restore_point_id)
        states = self._restored
        for name, channel in self._context.sources.items():
            channel.send(RestoreSource(states.sources[name]))
        for name, channel in self._context.tasks.items():
            channel.send(RestoreTask(states.tasks[name], self._context.epoch))
        for name, channel in self._context.sinks.items():
            channel.send(RestoreSink(states.sinks[name], self._context.epoch))
        self._wiring.do(
            EpochStarted(
                epoch=self._context.epoch,
                base=self._context.base.ref,
                restored_units=sum(len(task.units) for task in states.tasks.values()),
                restored_committables=sum(len(sink.uncommitted) for sink in states.sinks.values()),
            )
        )
        self._context.enter(Phase.PREPARING)
        pending = frozenset(name for name, sink in states.sinks.items() if sink.save_mode_pending)
        known = {name: sink.prepared_in for name, sink in states.sinks.items() if sink.prepared_in}
        tables = {name: sink.published_to for name, sink in states.sinks.items() if sink.published_to}
        self._wiring.do(
            PrepareSinks(epoch=self._context.epoch, save_mode_pending=pending, prepared_in=known, published_to=tables)
        )

    def sinks_prepared(self, _event: events.SinksPrepared) -> None:
        """Publish the uncommitted output of the restored checkpoint, now that the sinks are prepared."""
        self._context.enter(Phase.COMMITTING_BASE)
        self._context.tell_sinks(Prepared())
        self._context.publish(self._context.base.restore_point_id)

    def base_committed(self) -> None:
        """Sweep the staged output of older epochs, except output that the restored state refers to (R9).

        Another start before the next checkpoint would commit that output again. Output of older live checkpoints is
        already committed; the runtime keeps it for sinks that expire their commit records. A finished pipeline
        completes again, unless it rolls back.
        """
        if self._context.base_is_final and self._restored.retracting is None:
            self._context.complete()
            return
        keep = frozenset(committable.id for committable in self._restored.committables())
        self._context.enter(Phase.SWEEPING)
        self._wiring.do(Sweep(epoch=self._context.epoch, keep=keep, final=False))

    def swept(self) -> None:
        """Roll back the output published after the restored checkpoint, if requested; then enumerate (R10).

        No older engine can publish any more output at this point, because its staged output was removed.
        """
        base = self._restored.retracting
        if base is None:
            self._enumerate()
            return
        self._context.enter(Phase.RETRACTING)
        epoch, topology = self._context.epoch, self._context.topology
        gone = retractions(self._restored, topology, epoch=epoch, base_epoch=base.epoch)
        self._wiring.do(Retract(epoch=epoch, retractions=gone))

    def retracted(self, _event: events.Retracted) -> None:
        """Complete a pipeline that had already finished; otherwise enumerate the sources."""
        if self._context.base_is_final:
            self._context.complete()
        else:
            self._enumerate()

    def _enumerate(self) -> None:
        self._context.enter(Phase.ENUMERATING)
        self._unready = set(self._context.sources)
        self._context.tell_sources(Plan())

    def source_ready(self, source: str) -> None:
        """Start the run when every source is enumerated."""
        self._unready.discard(source)
        if self._unready:
            return
        self._restored = VertexStates()
        self._running()

    def connector_failed(self, event: events.ConnectorFailed) -> None:
        """End the pipeline because a source or a sink failed."""
        self._end(Outcome.FAILED, event.failure)

    def _fail(self, kind: FailureKind, message: str, code: str) -> None:
        self._end(Outcome.FAILED, Failure(kind=kind, message=message, code=code))
