"""Why a pipeline that runs does not move as it should: what a person must not have to find out alone."""

from collections.abc import Callable

from seatunnel_core.checkpoint.commands import Degraded
from seatunnel_core.checkpoint.decisions.trigger import CheckpointPolicy
from seatunnel_core.checkpoint.vertices.messages import Pressure
from seatunnel_core.checkpoint.vertices.wiring import Wiring

PATIENCE = 3
"""So many checkpoints may be overdue before the pipeline is degraded."""

SHORTEST_INTERVAL_MS = 1_000
"""A shorter interval counts as this one here: a busy storage may well take longer than a few tenths of a second."""


class Health:
    """A pipeline is degraded while a sink is at its bound (R1), and while no checkpoint has completed for three
    intervals. Both may hold. A pipeline without an interval owes no checkpoint."""

    def __init__(self, wiring: Wiring, policy: CheckpointPolicy, *, under_way: Callable[[], str]) -> None:
        """``under_way`` says, for a person, how the checkpoint that is being taken stands; nothing when none is."""
        self.degraded = ""
        """For a person; empty while all is well."""

        self._wiring = wiring
        self._under_way = under_way
        self._interval_ms = 0
        """0: no checkpoint is owed."""

        if policy.interval_ms is not None:
            self._interval_ms = max(policy.interval_ms, policy.min_pause_ms, SHORTEST_INTERVAL_MS)
        self._completed_ms = 0
        self._last_failure = ""
        self._learned = ""
        self._overdue = ""
        self._pressures: dict[str, Pressure] = {}

    @property
    def uncovered(self) -> bool:
        """Whether a sink at its bound holds what no completed checkpoint contains."""
        return any(pressure.uncovered for pressure in self._pressures.values())

    def pressed(self, pressure: Pressure) -> None:
        """A sink has reached its bound, or has room again."""
        before = self._full_sinks
        self._pressures[pressure.sink] = pressure
        if self._full_sinks != before:
            self._tell()

    def begin(self) -> None:
        """Splits may flow: from now on checkpoints are owed."""
        self._completed_ms = self._wiring.now_ms
        self._look_after_patience()

    @property
    def last_failed(self) -> bool:
        """Whether the last checkpoint failed."""
        return bool(self._last_failure)

    def failed(self, reason: str) -> None:
        """A checkpoint has failed; ``reason`` says which and why."""
        self._last_failure = reason

    def learned(self, reason: str) -> None:
        """Of a checkpoint that was given up before the storage had answered, the storage's own word: the timeout knows
        only that something took long."""
        self._learned = reason

    def completed(self, *, last: bool) -> None:
        """A checkpoint has completed; after the ``last`` one none is owed any more."""
        self._last_failure = ""
        self._learned = ""
        self._completed_ms = self._wiring.now_ms
        if last:
            self._wiring.cancel_timer("watchdog")
        elif self._overdue:
            self._look_after_patience()
        if self._overdue:
            self._overdue = ""
            self._tell()

    def _look_after_patience(self) -> None:
        if self._interval_ms:
            self._look_when_silent_for(PATIENCE * self._interval_ms)

    def _look_when_silent_for(self, silent_ms: int) -> None:
        self._wiring.set_timer("watchdog", self._completed_ms + silent_ms, self._look)

    def _look(self) -> None:
        """Each completed checkpoint would move the timer, many times a second; so it is moved when it fires. What does
        not get better is said again whenever the silence has doubled."""
        silent_ms = self._wiring.now_ms - self._completed_ms
        if silent_ms < PATIENCE * self._interval_ms:
            self._look_after_patience()
            return
        known = (self._last_failure, self._learned, self._under_way())
        obstacles = "; ".join(filter(None, known)) or "none is under way"
        self._overdue = (
            f"no checkpoint has completed for {silent_ms} ms, and one is due every {self._interval_ms} ms: {obstacles}"
        )
        self._tell()
        self._look_when_silent_for(2 * silent_ms)

    @property
    def _full_sinks(self) -> set[str]:
        return {pressure.sink for pressure in self._pressures.values() if pressure.full}

    def _tell(self) -> None:
        reasons = [self._overdue, *(pressure.reason for pressure in self._pressures.values() if pressure.full)]
        self.degraded = "; ".join(filter(None, reasons))
        self._wiring.do(Degraded(reason=self.degraded))
