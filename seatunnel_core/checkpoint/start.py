"""The start of a pipeline, and its restart: one and the same sequence, whatever came before (R4)."""

from collections.abc import Callable

from attrs import evolve

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
from seatunnel_core.checkpoint.decisions.base import (
    RestoreRequest,
    Rewind,
    choose_base,
    damaged,
    require_retracting,
)
from seatunnel_core.checkpoint.decisions.matching import compare, fitted, staged_elsewhere
from seatunnel_core.checkpoint.decisions.published import require_known
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
    """The start of one pipeline: claim, list, choose a base, store the restore point, look.

    Only then: prepare, commit, sweep, retract, enumerate, run. R4a to R4e are the steps of R4 in
    ``docs/design/checkpoint-protocol.md``.
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
        """Prepare the start; ``started`` begins it.

        ``end`` is called when the start fails, ``running`` when splits may flow.
        """
        self._context = context
        self._wiring = context.wiring
        self._epoch_minimum = epoch_minimum
        self._timeout_ms = timeout_ms
        self._restore = restore
        self._end = end
        self._running = running
        self._restored = VertexStates()
        self._requires_known = restore.requires_known
        self._unready: set[str] = set()

    def started(self, _event: events.Started) -> None:
        """Claim an epoch (R4a)."""
        self._context.enter(Phase.CLAIMING)
        self._wiring.do(ClaimEpoch(minimum=self._epoch_minimum))

    def require_large_enough(self, event: events.EpochClaimed) -> None:
        """Raise ``IllegalEventError`` if the claimed epoch is below the one that was asked for."""
        if event.epoch < self._epoch_minimum:
            raise IllegalEventError(
                f"epoch {event.epoch} was claimed, and at least {self._epoch_minimum} was asked for"
            )

    def epoch_claimed(self, event: events.EpochClaimed) -> None:
        """List what is stored: every older engine that looks from here on will see this epoch's marker (R4a)."""
        self._context.epoch = event.epoch
        self._context.enter(Phase.LISTING)
        self._wiring.do(ListCheckpoints())

    def checkpoints_listed(self, event: events.CheckpointsListed) -> None:
        """Choose the base and load it; end as fenced if a newer engine has claimed the pipeline (R4b, R4c).

        The base is the latest checkpoint, or the one that a user asked for (R10). A pipeline that never ran has none:
        its restore point is the start state.
        """
        newest = max(event.newest_epoch or 0, max((info.epoch for info in event.checkpoints), default=0))
        if newest > self._context.epoch:
            message = (
                f"epoch {newest} was claimed after epoch {self._context.epoch}: another engine runs this pipeline now"
            )
            self._end(Outcome.FENCED, Failure(kind=FailureKind.STORAGE, message=message, code=StaleEpochError.code))
            return
        request = self._restore.as_of(event.checkpoints)
        self._requires_known = request.requires_known
        try:
            self._context.base = choose_base(event.checkpoints, request)
            require_retracting(
                self._context.base.rewind, asked=self._context.base.ref, unable=self._unable_to_retract()
            )
            if self._context.base.cut is not None:
                self._context.enter(Phase.LOADING)
                self._wiring.do(LoadCheckpoint(ref=self._context.base.cut.ref))
            else:
                self._recognise(self._saved(VertexStates.at_start(self._context.topology)))
        except RestoreRefusedError as error:
            self._fail(FailureKind.USAGE, str(error), error.code)

    def _unable_to_retract(self) -> list[str]:
        return [sink.name for sink in self._context.topology.sinks if not sink.retracts]

    def require_asked_for(self, event: events.CheckpointLoaded) -> None:
        """Raise ``IllegalEventError`` unless the loaded checkpoint is the one that was asked for."""
        asked = None if self._context.base.cut is None else self._context.base.cut.ref
        if event.state.ref != asked:
            raise IllegalEventError(f"checkpoint {event.state.ref} was loaded, and {asked} was asked for")

    def checkpoint_loaded(self, event: events.CheckpointLoaded) -> None:
        """Restore the vertices from the state of the base.

        If the base is a savepoint, all that its cut names as staged is known to be published: only then is a savepoint
        stored.
        """
        try:
            states = codec.decode(event.state.states)
            self._restore_states(states, is_published=self._context.base.cut is not self._context.base.info)
        except (RestoreRefusedError, StateFormatError) as error:
            self._fail(FailureKind.USAGE, f"checkpoint {event.state.ref} cannot be restored: {error}", error.code)

    def _restore_states(self, states: VertexStates, *, is_published: bool) -> None:
        """Match stored states to vertices by name, and store the result as the restore point.

        If the states already name a retraction target, keep it: it reaches further back than this base.
        """
        topology = self._context.topology
        if self._restore.settled and is_published:
            states = states.without_staged()
        if not is_published:
            self._require_meant(states)
        fitting = fitted(
            states, topology, allow_non_restored=self._restore.allow_non_restored, is_published=is_published
        )
        self._context.is_extended = bool(compare(states, topology).new)
        if self._context.base.rewind is Rewind.RETRACTED and fitting.retracting is None:
            fitting = evolve(fitting, retracting=self._context.base.ref)
        self._recognise(self._saved(fitting))

    def _require_meant(self, states: VertexStates) -> None:
        """Refuse to publish staged units elsewhere than they were meant to go (R8).

        An engine that ran until this epoch was claimed may have staged more since its state was looked at.

        Raises:
            RestoreRefusedError: A sink has such units, and its options have changed since.
        """
        for name in self._restore.changed_bindings:
            for each in filter(lambda each: any(each.body.values()), states.committables_for(name)):
                if changes := self._changes_since(name, each.epoch):
                    raise RestoreRefusedError(staged_elsewhere(name, "units", changes))

    def _saved(self, states: VertexStates) -> VertexStates:
        """Return the states, with the save modes that the request names marked as done.

        A sink whose options have changed may have a new target, which no epoch has prepared. The restore point passes
        all that on to every later start.
        """
        sinks = dict(states.sinks)
        for name in self._restore.saved & sinks.keys():
            sinks[name] = evolve(sinks[name], save_mode_pending=False)
        for name in self._restore.changed_bindings.keys() & sinks.keys():
            if self._changes_since(name, sinks[name].prepared_in):
                sinks[name] = evolve(sinks[name], prepared_in=0, published_to={})
        return evolve(states, sinks=sinks)

    def _changes_since(self, sink: str, epoch: int) -> str:
        """Return how the options that bind a sink's output differed in an epoch from those of now; empty if equal."""
        changes = self._restore.changed_bindings[sink]
        words = [words for since, words in changes if since <= epoch < (self._restore.since or 0)]
        return words[-1] if words else ""

    def checkpoint_damaged(self, event: events.CheckpointDamaged) -> None:
        """Fail the start: the base cannot be read, and going back to an older one is the user's decision (R10)."""
        is_latest = self._context.base.rewind is None
        message = damaged(event.ref, latest=is_latest, intact=event.intact, reason=event.message)
        self._fail(FailureKind.USAGE, message, CheckpointCorruptedError.code)

    def _recognise(self, states: VertexStates) -> None:
        """List what the targets show as published, if the base has to know all of it; then store the restore point.

        What a finished pipeline published is complete, and a retraction takes back what its base does not know.
        """
        self._restored = states
        if not self._requires_known or states.retracting is not None or self._context.base_is_final:
            self._store_restore_point(states)
            return
        self._context.enter(Phase.RECOGNISING)
        self._wiring.do(ListPublished(epoch=self._context.epoch))

    def published_listed(self, event: events.PublishedListed) -> None:
        """Store the restore point; fail the start if a target has output of which the base knows nothing (R10)."""
        base = self._context.base.ref
        epoch, base_epoch = self._context.epoch, 0 if base is None else base.epoch
        known = retractions(self._restored, self._context.topology, epoch=epoch, base_epoch=base_epoch)
        try:
            require_known(event.published, known, job_id=self._context.job_id, base=base)
        except RestoreRefusedError as error:
            self._fail(FailureKind.USAGE, str(error), error.code)
        else:
            self._store_restore_point(self._restored)

    def _store_restore_point(self, states: VertexStates) -> None:
        """Store the base's state as the first checkpoint of the epoch (R4d); a finished pipeline stays final (R7)."""
        self._restored = states
        self._context.enter(Phase.RESTORING)
        self._wiring.set_timer("restore", self._wiring.now_ms + self._timeout_ms, self._restore_point_expired)
        kind = CheckpointType.COMPLETED_POINT if self._context.base_is_final else CheckpointType.RESTORE_POINT
        self._context.store(self._context.base.restore_point_id, kind, states)

    def _restore_point_expired(self) -> None:
        message = f"the restore point was not stored within {self._timeout_ms} ms"
        self._fail(FailureKind.STORAGE, message, StorageUnavailableError.code)

    def restore_point_stored(self) -> None:
        """Restore the vertices and prepare the sinks: the restore point is durable, with no newer marker (R4e).

        Before this nothing but the checkpoint storage may be touched.
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
        """Publish what the base had not committed: the sinks know the epoch now."""
        self._context.enter(Phase.COMMITTING_BASE)
        self._context.tell_sinks(Prepared())
        self._context.publish(self._context.base.restore_point_id)

    def base_committed(self) -> None:
        """Sweep what older epochs staged, and keep what the restored state names, committed or not (R9).

        Until the next checkpoint another start would commit the same again, and a sink may recognise by what it keeps
        that this is done. What older live checkpoints name beyond the base is committed; the runtime adds it to what is
        kept for sinks that forget what they committed. A finished pipeline completes again, unless it retracts.
        """
        if self._context.base_is_final and self._restored.retracting is None:
            self._context.complete()
            return
        keep = frozenset(committable.id for committable in self._restored.committables())
        self._context.enter(Phase.SWEEPING)
        self._wiring.do(Sweep(epoch=self._context.epoch, keep=keep, final=False))

    def swept(self) -> None:
        """Retract what was published after the base, if the restore point asks for it; then enumerate (R10).

        Nothing is staged any more that an older engine could publish, so what is published now is all of it.
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
        """Complete a pipeline that had finished; let the sources of any other enumerate."""
        if self._context.base_is_final:
            self._context.complete()
        else:
            self._enumerate()

    def _enumerate(self) -> None:
        self._context.enter(Phase.ENUMERATING)
        self._unready = set(self._context.sources)
        self._context.tell_sources(Plan())

    def source_ready(self, source: str) -> None:
        """Begin to run when every source is enumerated."""
        self._unready.discard(source)
        if self._unready:
            return
        self._restored = VertexStates()
        self._running()

    def connector_failed(self, event: events.ConnectorFailed) -> None:
        """End the pipeline: a source or a sink failed."""
        self._end(Outcome.FAILED, event.failure)

    def _fail(self, kind: FailureKind, message: str, code: str) -> None:
        self._end(Outcome.FAILED, Failure(kind=kind, message=message, code=code))
