"""Life cycle of a pipeline as a table of the legal events in each phase and the phases that follow.

The table defines the order of a start (R4), a run and an end. ``PipelineProtocol.handle`` rejects an event that is not
in the table and changes nothing. ``docs/design/checkpoint-protocol.md`` shows the table as a diagram.
"""

import enum
from collections.abc import Mapping

from attrs import frozen

from seatunnel_core.checkpoint import events
from seatunnel_core.checkpoint.errors import IllegalEventError
from seatunnel_core.checkpoint.events import Event


class Phase(enum.Enum):
    """Phase of a pipeline in this process."""

    CREATED = "created"
    CLAIMING = "claiming"
    """The epoch is being claimed (R4a)."""

    LISTING = "listing"
    """Stored checkpoints are being listed (R4b)."""

    LOADING = "loading"
    """The checkpoint to restore is being read (R4c)."""

    RECOGNISING = "recognising"
    """The targets are queried for their published output (R10)."""

    RESTORING = "restoring"
    """The restore point is being stored, and the storage is checked for newer epochs (R4d, R4e)."""

    PREPARING = "preparing"
    """Sinks are being prepared and save modes applied."""

    COMMITTING_BASE = "committing-base"
    """Uncommitted output of the restored checkpoint is being published."""

    SWEEPING = "sweeping"
    """Staged output of older epochs is being removed (R9)."""

    RETRACTING = "retracting"
    """Output that was published after the restored checkpoint is being rolled back (R10)."""

    ENUMERATING = "enumerating"
    """Sources are determining their splits (R12)."""

    RUNNING = "running"
    """Splits are emitted, units run, checkpoints are taken."""

    STOPPING = "stopping"
    """A final checkpoint is being taken and published, because a stop was requested."""

    FINISHING = "finishing"
    """The final checkpoint is stored, and its output is being published."""

    COMPLETING = "completing"
    """All committables are published; sinks publish the output held back until the last row (R16)."""

    CLEANING = "cleaning"
    """Everything is published; the last sweep runs."""

    ENDED = "ended"


@frozen(kw_only=True)
class Transition:
    """Row of the transition table."""

    phase: Phase
    event: type[Event]
    to: tuple[Phase, ...]
    """Phases that the event may lead to or pass through, including the current one if the pipeline may stay in it."""


_P = Phase
_STARTED = tuple(phase for phase in Phase if phase not in (Phase.CREATED, Phase.ENDED))
_BEFORE_RUNNING = _STARTED[: _STARTED.index(Phase.RUNNING)]
BEFORE_RUNNING = frozenset((Phase.CREATED, *_BEFORE_RUNNING))
_AFTER_RUNNING = (_P.FINISHING, _P.COMPLETING, _P.CLEANING)


def _on(event: type[Event], moves: dict[Phase, tuple[Phase, ...]]) -> tuple[Transition, ...]:
    return tuple(Transition(phase=phase, event=event, to=to) for phase, to in moves.items())


def _stay(*phases: Phase) -> dict[Phase, tuple[Phase, ...]]:
    return {phase: (phase,) for phase in phases}


def _end(*phases: Phase) -> dict[Phase, tuple[Phase, ...]]:
    return dict.fromkeys(phases, (_P.ENDED,))


TRANSITIONS: tuple[Transition, ...] = (
    # The start, step by step (R4).
    *_on(events.Started, {_P.CREATED: (_P.CLAIMING,)}),
    *_on(events.EpochClaimed, {_P.CLAIMING: (_P.LISTING,)}),
    *_on(events.CheckpointsListed, {_P.LISTING: (_P.LOADING, _P.RECOGNISING, _P.RESTORING, _P.ENDED)}),
    *_on(events.CheckpointLoaded, {_P.LOADING: (_P.RECOGNISING, _P.RESTORING, _P.ENDED)}),
    *_on(events.CheckpointDamaged, _end(_P.LOADING)),
    *_on(events.PublishedListed, {_P.RECOGNISING: (_P.RESTORING, _P.ENDED)}),
    *_on(events.SinksPrepared, {_P.PREPARING: (_P.COMMITTING_BASE, _P.SWEEPING, _P.COMPLETING)}),
    *_on(events.Completed, {_P.COMPLETING: (_P.CLEANING,)}),
    *_on(events.Swept, {_P.SWEEPING: (_P.RETRACTING, _P.ENUMERATING), _P.CLEANING: (_P.ENDED,)}),
    *_on(events.Retracted, {_P.RETRACTING: (_P.ENUMERATING, _P.COMPLETING)}),
    *_on(events.Enumerated, {_P.ENUMERATING: (_P.ENUMERATING, _P.RUNNING, _P.STOPPING)}),
    *_on(
        events.ConnectorFailed,
        _end(
            *(_P.RECOGNISING, _P.PREPARING, _P.SWEEPING, _P.RETRACTING, _P.ENUMERATING),
            *(_P.COMPLETING, _P.CLEANING),
        ),
    ),
    # Checkpoints: the restore point, those of the run, and answers that arrive after their checkpoint was aborted.
    *_on(
        events.CheckpointStored,
        {
            _P.RESTORING: (_P.PREPARING,),
            _P.RUNNING: (_P.RUNNING, _P.FINISHING, _P.COMPLETING),
            _P.STOPPING: (_P.STOPPING, _P.ENDED),
            _P.FINISHING: (_P.FINISHING, _P.COMPLETING),
            **_stay(_P.COMPLETING, _P.CLEANING),
        },
    ),
    *_on(
        events.StorageFailed,
        {
            **_end(*_BEFORE_RUNNING),
            _P.RUNNING: (_P.RUNNING, _P.ENDED),
            _P.STOPPING: (_P.STOPPING, _P.ENDED),
            _P.FINISHING: (_P.FINISHING, _P.COMPLETING),
            **_stay(_P.COMPLETING, _P.CLEANING),
        },
    ),
    *_on(events.FenceLost, _end(*_STARTED)),
    *_on(events.TriggerRequested, _stay(*_STARTED)),
    *_on(
        events.SavepointRequested,
        {
            **_stay(*_BEFORE_RUNNING, _P.STOPPING, *_AFTER_RUNNING),
            _P.RUNNING: (_P.RUNNING, _P.STOPPING),
        },
    ),
    # New splits of an unbounded source; an answer that arrives after the last barrier changes nothing (R12).
    *_on(events.Found, _stay(_P.RUNNING, _P.STOPPING)),
    *_on(events.PollFailed, {_P.RUNNING: (_P.RUNNING, _P.ENDED), _P.STOPPING: (_P.STOPPING, _P.ENDED)}),
    # Results of units are claims (R14): those of another epoch may arrive at any time and change nothing.
    *_on(events.UnitFinished, {**_stay(*_STARTED), _P.RUNNING: (_P.RUNNING, _P.STOPPING)}),
    *_on(
        events.UnitFailed,
        {**_stay(*_BEFORE_RUNNING, _P.STOPPING, *_AFTER_RUNNING), _P.RUNNING: (_P.RUNNING, _P.ENDED)},
    ),
    *_on(
        events.CommitSucceeded,
        {
            _P.COMMITTING_BASE: (_P.COMMITTING_BASE, _P.SWEEPING, _P.COMPLETING),
            _P.RUNNING: (_P.RUNNING,),
            _P.STOPPING: (_P.STOPPING, _P.ENDED),
            _P.FINISHING: (_P.FINISHING, _P.COMPLETING),
        },
    ),
    *_on(
        events.CommitFailed,
        {
            _P.COMMITTING_BASE: (_P.COMMITTING_BASE, _P.ENDED),
            _P.RUNNING: (_P.RUNNING, _P.ENDED),
            _P.STOPPING: (_P.STOPPING, _P.ENDED),
            _P.FINISHING: (_P.FINISHING, _P.ENDED),
        },
    ),
    *_on(
        events.TimerFired,
        {
            **_stay(*_BEFORE_RUNNING),
            _P.RESTORING: (_P.RESTORING, _P.ENDED),
            _P.COMMITTING_BASE: (_P.COMMITTING_BASE, _P.SWEEPING, _P.COMPLETING),
            _P.RUNNING: (_P.RUNNING, _P.ENDED),
            _P.STOPPING: (_P.STOPPING, _P.ENDED),
            _P.FINISHING: (_P.FINISHING, _P.COMPLETING, _P.ENDED),
            _P.COMPLETING: (_P.COMPLETING, _P.ENDED),
            _P.CLEANING: (_P.CLEANING, _P.ENDED),
        },
    ),
    *_on(
        events.StopRequested,
        {
            **_end(_P.CREATED, *_BEFORE_RUNNING),
            _P.RUNNING: (_P.STOPPING, _P.RUNNING),
            **_stay(_P.STOPPING, *_AFTER_RUNNING),
        },
    ),
)
"""All legal transitions. Events after the end are legal and ignored."""

_LEGAL: dict[tuple[Phase, type[Event]], Transition] = {(row.phase, row.event): row for row in TRANSITIONS}


NEXT: Mapping[Phase, frozenset[Phase]] = {
    phase: frozenset(to for row in TRANSITIONS if row.phase is phase for to in row.to) for phase in Phase
}
"""Phases that may follow each phase."""


def require_legal(phase: Phase, event: Event) -> None:
    """Raise ``IllegalEventError`` unless ``event`` is legal in ``phase``."""
    if (phase, type(event)) not in _LEGAL:
        legal = sorted(row.event.__name__ for row in TRANSITIONS if row.phase is phase)
        raise IllegalEventError(
            f"{type(event).__name__} is not legal while the pipeline is {phase.value}; legal events: {', '.join(legal)}"
        )


def targets(phase: Phase, event: type[Event]) -> tuple[Phase, ...]:
    """Return the phases that ``event`` may lead to from ``phase``; empty if it is illegal there."""
    if phase is Phase.ENDED:
        return (Phase.ENDED,)
    row = _LEGAL.get((phase, event))
    return () if row is None else row.to
