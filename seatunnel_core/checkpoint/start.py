"""The start of a pipeline, and its restart: one and the same sequence, whatever came before (R4)."""

from collections.abc import Callable

from attrs import evolve

from seatunnel_core.checkpoint import events
from seatunnel_core.checkpoint.commands import (
    ClaimEpoch,
    EpochStarted,
    ListCheckpoints,
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
    """Claim, list, choose, store, look; only then prepare, commit, sweep, enumerate, run.

    The letters in the comments are those of R4 in ``docs/design/checkpoint-protocol.md``.
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
        """``end`` and ``running`` are called when the start failed, and when splits may flow."""
        self._context = context
        self._wiring = context.wiring
        self._epoch_minimum = epoch_minimum
        self._timeout_ms = timeout_ms
        self._restore = restore
        self._end = end
        self._running = running
        self._restored = VertexStates()
        self._unready: set[str] = set()

    def started(self, _event: events.Started) -> None:
        self._context.enter(Phase.CLAIMING)
        self._wiring.do(ClaimEpoch(minimum=self._epoch_minimum))

    def require_large_enough(self, event: events.EpochClaimed) -> None:
        if event.epoch < self._epoch_minimum:
            raise IllegalEventError(
                f"epoch {event.epoch} was claimed, and at least {self._epoch_minimum} was asked for"
            )

    def epoch_claimed(self, event: events.EpochClaimed) -> None:
        """(a) The marker stands: from here on every older engine that looks will see it."""
        self._context.epoch = event.epoch
        self._context.enter(Phase.LISTING)
        self._wiring.do(ListCheckpoints())

    def checkpoints_listed(self, event: events.CheckpointsListed) -> None:
        """(b) A newer engine goes first. (c) The base is the latest that exists, or what a person asked for (R10)."""
        newest = max(event.newest_epoch or 0, max((info.epoch for info in event.checkpoints), default=0))
        if newest > self._context.epoch:
            message = (
                f"epoch {newest} was claimed after epoch {self._context.epoch}: another engine runs this pipeline now"
            )
            self._end(Outcome.FENCED, Failure(kind=FailureKind.STORAGE, message=message, code=StaleEpochError.code))
            return
        try:
            self._context.base = choose_base(event.checkpoints, self._restore.as_of(event.checkpoints))
            require_retracting(
                self._context.base.rewind, asked=self._context.base.ref, unable=self._unable_to_retract()
            )
            if self._context.base.cut is not None:
                self._context.enter(Phase.LOADING)
                self._wiring.do(LoadCheckpoint(ref=self._context.base.cut.ref))
            else:
                self._store_restore_point(self._saved(VertexStates.at_start(self._context.topology)))
        except RestoreRefusedError as error:
            self._fail(FailureKind.USAGE, str(error), error.code)

    def _unable_to_retract(self) -> list[str]:
        return [sink.name for sink in self._context.topology.sinks if not sink.retracts]

    def require_asked_for(self, event: events.CheckpointLoaded) -> None:
        asked = None if self._context.base.cut is None else self._context.base.cut.ref
        if event.state.ref != asked:
            raise IllegalEventError(f"checkpoint {event.state.ref} was loaded, and {asked} was asked for")

    def checkpoint_loaded(self, event: events.CheckpointLoaded) -> None:
        """A savepoint is stored when all that its cut names is published: that is known without asking the sinks."""
        try:
            states = codec.decode(event.state.states)
            self._restore_states(states, is_published=self._context.base.cut is not self._context.base.info)
        except (RestoreRefusedError, StateFormatError) as error:
            self._fail(FailureKind.USAGE, f"checkpoint {event.state.ref} cannot be restored: {error}", error.code)

    def _restore_states(self, states: VertexStates, *, is_published: bool) -> None:
        """Found again by name; what goes back further than the base wins, because it takes more back."""
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
        self._store_restore_point(self._saved(fitting))

    def _require_meant(self, states: VertexStates) -> None:
        """R8: what an engine has staged that ran until this epoch was claimed goes where it was meant, too."""
        for name, told in self._restore.told_otherwise.items():
            for each in filter(lambda each: any(each.body.values()), states.committables_for(name)):
                changes = [words for since, words in told if since <= each.epoch < (self._restore.since or 0)]
                if changes and changes[-1]:
                    raise RestoreRefusedError(staged_elsewhere(name, "units", changes[-1]))

    def _saved(self, states: VertexStates) -> VertexStates:
        """As the request says which save modes have acted: so the restore point says it to every later start."""
        sinks = {
            name: evolve(sink, save_mode_pending=False) if name in self._restore.saved else sink
            for name, sink in states.sinks.items()
        }
        return evolve(states, sinks=sinks) if self._restore.saved else states

    def checkpoint_damaged(self, event: events.CheckpointDamaged) -> None:
        is_latest = self._context.base.rewind is None
        message = damaged(event.ref, latest=is_latest, intact=event.intact, reason=event.message)
        self._fail(FailureKind.USAGE, message, CheckpointCorruptedError.code)

    def _store_restore_point(self, states: VertexStates) -> None:
        """(d) The base's state becomes the first checkpoint of its epoch; a finished pipeline stays final (R7)."""
        self._restored = states
        self._context.enter(Phase.RESTORING)
        self._wiring.set_timer("restore", self._wiring.now_ms + self._timeout_ms, self._restore_point_expired)
        kind = CheckpointType.COMPLETED_POINT if self._context.base_is_final else CheckpointType.RESTORE_POINT
        self._context.store(self._context.base.restore_point_id, kind, states)

    def _restore_point_expired(self) -> None:
        message = f"the restore point was not stored within {self._timeout_ms} ms"
        self._fail(FailureKind.STORAGE, message, StorageUnavailableError.code)

    def restore_point_stored(self) -> None:
        """(e) Durable, and no newer marker: the pipeline exists. Now, and not before, may anything else be touched."""
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
        self._wiring.do(PrepareSinks(epoch=self._context.epoch, save_mode_pending=pending))

    def sinks_prepared(self, _event: events.SinksPrepared) -> None:
        """The sinks know the epoch. What the base had not committed comes first."""
        self._context.enter(Phase.COMMITTING_BASE)
        self._context.tell_sinks(Prepared())
        self._context.publish(self._context.base.restore_point_id)

    def base_committed(self) -> None:
        """R9: what the restored state names stays, committed or not: until the next checkpoint a start would commit it
        again, and a sink may know by what it keeps that it has done so. What older live checkpoints name beyond the
        base is committed: who sweeps adds it for the sinks that would forget that."""
        if self._context.base_is_final and self._restored.retracting is None:
            self._context.clean()
            return
        keep = frozenset(committable.id for committable in self._restored.committables())
        self._context.enter(Phase.SWEEPING)
        self._wiring.do(Sweep(epoch=self._context.epoch, keep=keep, final=False))

    def swept(self) -> None:
        """R10: nothing is staged any more that an older engine could publish, so what is published now is all."""
        base = self._restored.retracting
        if base is None:
            self._enumerate()
            return
        self._context.enter(Phase.RETRACTING)
        epoch, topology = self._context.epoch, self._context.topology
        gone = retractions(self._restored, topology, epoch=epoch, base_epoch=base.epoch)
        self._wiring.do(Retract(epoch=epoch, retractions=gone))

    def retracted(self, _event: events.Retracted) -> None:
        if self._context.base_is_final:
            self._context.clean()
        else:
            self._enumerate()

    def _enumerate(self) -> None:
        self._context.enter(Phase.ENUMERATING)
        self._unready = set(self._context.sources)
        self._context.tell_sources(Plan())

    def source_ready(self, source: str) -> None:
        self._unready.discard(source)
        if self._unready:
            return
        self._restored = VertexStates()
        self._running()

    def place_failed(self, event: events.PlaceFailed) -> None:
        self._end(Outcome.FAILED, event.failure)

    def _fail(self, kind: FailureKind, message: str, code: str) -> None:
        self._end(Outcome.FAILED, Failure(kind=kind, message=message, code=code))
