"""Log line about the activity of the engine in this process."""

from collections import Counter
from collections.abc import Sequence

from seatunnel_core.quantity import count, pick
from seatunnel_core.reporting.metrics import PipelineMetrics


def execution_info(pipelines: Sequence[PipelineMetrics], slots: int | None) -> str:
    """Return a line about the pipelines; ``slots`` is the number of parallel tasks, ``None`` until Spark runs."""
    phases = Counter("degraded" if each.degraded else each.phase for each in pipelines)
    states = ", ".join(f"{count(number)} {phase}" for phase, number in sorted(phases.items()))
    spark = "Spark starts" if slots is None else f"{count(slots)} slots"
    running = sum(each.units_running for each in pipelines)
    return (
        f"{pick(len(pipelines), 'pipeline')}: {states or 'none'}; "
        f"{pick(sum(each.units_in_flight for each in pipelines), 'work unit')} in flight, {count(running)} running "
        f"({spark}); {pick(sum(each.uncommitted for each in pipelines), 'committable')} not published"
    )
