"""Detection of a degraded pipeline."""

from collections.abc import Callable

from seatunnel_core.checkpoint.commands import Degraded
from seatunnel_core.checkpoint.decisions.trigger import CheckpointPolicy
from seatunnel_core.checkpoint.vertices.messages import Pressure
from seatunnel_core.checkpoint.vertices.wiring import Wiring

PATIENCE = 3
"""Number of intervals without a completed checkpoint after which the pipeline counts as degraded."""

SHORTEST_INTERVAL_MS = 1_000
"""Minimum interval for detecting overdue checkpoints, because busy storage may take several tenths of a second."""


class Health:
    """Health of a pipeline: degraded while a sink is full (R1) or no checkpoint has completed for three intervals."""

    def __init__(self, wiring: Wiring, policy: CheckpointPolicy, *, under_way: Callable[[], str]) -> None:
        """Create the health state of a pipeline; ``under_way`` describes the oldest pending checkpoint, if any."""
        self.degraded = ""
        """Reasons why the pipeline is degraded; empty while it is healthy."""

        self._wiring = wiring
        self._under_way = under_way
        self._interval_ms = 0
        """Interval in which a checkpoint is expected; 0 if none is expected."""

        if policy.interval_ms is not None:
            self._interval_ms = max(policy.interval_ms, policy.min_pause_ms, SHORTEST_INTERVAL_MS)
        self._completed_ms = 0
        self._last_failure = ""
        self._learned = ""
        self._overdue = ""
        self._pressures: dict[str, Pressure] = {}

    @property
    def uncovered(self) -> bool:
        """True if a full sink holds output that no completed checkpoint contains."""
        return any(pressure.uncovered for pressure in self._pressures.values())

    def pressed(self, pressure: Pressure) -> None:
        """Record whether the sink in the message is full."""
        before = self.full_sinks
        self._pressures[pressure.sink] = pressure
        if self.full_sinks != before:
            self._tell()

    def begin(self) -> None:
        """Expect checkpoints from now on."""
        self._completed_ms = self._wiring.now_ms
        self._look_after_patience()

    @property
    def last_failed(self) -> bool:
        """True if the last checkpoint failed."""
        return bool(self._last_failure)

    def failed(self, reason: str) -> None:
        """Record that a checkpoint failed; ``reason`` identifies the checkpoint and the cause."""
        self._last_failure = reason

    def learned(self, reason: str) -> None:
        """Record the storage error of a checkpoint that had already timed out."""
        self._learned = reason

    def completed(self, *, last: bool) -> None:
        """Record that a checkpoint completed. After the ``last`` one, no further checkpoint is expected."""
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
        """Report the pipeline as degraded if no checkpoint has completed for too long.

        The timer is only rescheduled when it fires, because checkpoints may complete many times a second. A persistent
        problem is reported again whenever its duration has doubled.
        """
        silent_ms = self._wiring.now_ms - self._completed_ms
        if silent_ms < PATIENCE * self._interval_ms:
            self._look_after_patience()
            return
        known = (self._last_failure, self._learned, self._under_way())
        obstacles = "; ".join(filter(None, known)) or "none is in progress"
        self._overdue = (
            f"no checkpoint has completed for {silent_ms} ms (interval: {self._interval_ms} ms): {obstacles}"
        )
        self._tell()
        self._look_when_silent_for(2 * silent_ms)

    @property
    def full_sinks(self) -> set[str]:
        """Names of the sinks that have reached the limit on staged output."""
        return {pressure.sink for pressure in self._pressures.values() if pressure.full}

    def _tell(self) -> None:
        reasons = [self._overdue, *(pressure.reason for pressure in self._pressures.values() if pressure.full)]
        self.degraded = "; ".join(filter(None, reasons))
        self._wiring.do(Degraded(reason=self.degraded))
