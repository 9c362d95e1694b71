"""Ways to break the end of a pipeline: its last commits, its completion and its last sweep."""

from typing import Any

from seatunnel_core.checkpoint.commands import Sweep
from seatunnel_core.checkpoint.transitions import Phase


def finish_before_commits(original: Any) -> Any:
    """Complete when the final checkpoint is stored."""

    def complete(self: Any, pending: Any) -> None:
        original(self, pending)
        if self._context.phase is Phase.FINISHING:
            self._context.complete()

    return complete


def sweep_in_place_of_completing(_original: Any) -> Any:
    """Run the last sweep, and no completion."""

    def complete(self: Any) -> None:
        self.phase = Phase.CLEANING
        self.wiring.do(Sweep(epoch=self.epoch, keep=frozenset(), final=True))

    return complete


def complete_in_one_run_only(original: Any) -> Any:
    """Leave out the completion that a crash prevented."""

    def complete(self: Any) -> None:
        if self.base_is_final:
            sweep_in_place_of_completing(original)(self)
        else:
            original(self)

    return complete


def leave_the_own_epoch(_original: Any) -> Any:
    """Sweep older epochs only."""

    def clean(self: Any) -> None:
        self.enter(Phase.CLEANING)
        self.wiring.do(Sweep(epoch=self.epoch, keep=frozenset(), final=False))

    return clean
