"""Units that are given to a dispatcher, and their results."""

import threading
from collections.abc import Callable

from seatunnel_core.spark.dispatch import UnitDispatcher
from seatunnel_core.spark.operator_chain import OperatorChain
from seatunnel_core.spark.work import UnitResult
from seatunnel_core.work.unit import UnitAttempt, WorkUnit


class Inbox:
    """Collects results, and waits for them."""

    def __init__(self) -> None:
        self.results: list[UnitResult] = []
        self._changed = threading.Condition()

    def __call__(self, result: UnitResult) -> None:
        with self._changed:
            self.results.append(result)
            self._changed.notify_all()

    def wait(self, count: int, seconds: float = 120) -> dict[tuple[int, int], UnitResult]:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.results) >= count, seconds), self.results
        by_unit = {(result.pipeline_id, result.attempt.unit): result for result in self.results}
        assert len(by_unit) == len(self.results), "a unit got two results"
        return by_unit


Make = Callable[..., UnitDispatcher]


def first_attempt(unit: WorkUnit, epoch: int = 100_000) -> UnitAttempt:
    return UnitAttempt(unit=unit, epoch=epoch, number=1)


def run_all(
    dispatcher: UnitDispatcher, works: list[tuple[OperatorChain, WorkUnit]]
) -> dict[tuple[int, int], UnitResult]:
    """All wait when the first batch is chosen: a slow machine would choose from what has come so far."""
    inbox = Inbox()
    with dispatcher._changed:
        for chain, unit in works:
            dispatcher.submit(chain, first_attempt(unit), inbox)
    return inbox.wait(len(works))
