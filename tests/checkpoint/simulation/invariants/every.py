"""All rules that are watched in a run."""

from typing import TYPE_CHECKING

from tests.checkpoint.simulation.invariants.checkpoints import (
    BarriersPass,
    CheckpointsEnd,
    CompleteCut,
    FactsHaveOnePlace,
    IdsGrow,
    SavepointsStandAlone,
)
from tests.checkpoint.simulation.invariants.invariant import Invariant
from tests.checkpoint.simulation.invariants.rows import (
    BoundedUncommitted,
    CompletesWithEveryRow,
    EveryRowOnce,
    FailuresStayApart,
    FrozenEnumerations,
    OrderIsKept,
    ResultsAreClaims,
    StoredBeforeCommitted,
    SweepsKeepWhatIsNamed,
    UnitsTakeTurns,
)
from tests.checkpoint.simulation.invariants.starts import (
    FinishedStaysFinished,
    GoingBack,
    OrderOfTheStart,
    TargetsAreRecognised,
    TheTableHolds,
    ZombiesAreHarmless,
)
from tests.checkpoint.simulation.retained import RetentionIsExact
from tests.checkpoint.simulation.watch import DeadCheckpointersShow

if TYPE_CHECKING:
    from tests.checkpoint.simulation.world import World


def all_invariants(world: "World") -> tuple[Invariant, ...]:
    """One object per rule."""
    return tuple(
        invariant(world)
        for invariant in (
            CompleteCut,
            FactsHaveOnePlace,
            BoundedUncommitted,
            BarriersPass,
            SavepointsStandAlone,
            OrderOfTheStart,
            IdsGrow,
            StoredBeforeCommitted,
            ZombiesAreHarmless,
            FinishedStaysFinished,
            EveryRowOnce,
            CompletesWithEveryRow,
            TargetsAreRecognised,
            SweepsKeepWhatIsNamed,
            FrozenEnumerations,
            OrderIsKept,
            UnitsTakeTurns,
            ResultsAreClaims,
            GoingBack,
            FailuresStayApart,
            CheckpointsEnd,
            DeadCheckpointersShow,
            RetentionIsExact,
            TheTableHolds,
        )
    )
