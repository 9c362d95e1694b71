"""When a task asks the driver before it begins a unit, and when it reports results (protocol rule R15)."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from seatunnel_core.spark.line import Line, Numbered
from seatunnel_core.spark.work import UnitResult

PAUSE_S = 0.05
"""How often a task reports whose units may begin again."""


class Reports:
    """What one task reports over its line. Several threads may use it.

    ``at_once``, for units that write into a target themselves or are read side by side, a unit begins when the driver
    allows it, and its result is reported when it ends.

    Other units, which may begin again, wait for nothing: every ``PAUSE_S`` a thread reports which unit began last and
    what has ended since. A driver that is busy with other pipelines answers after as long as several small units take,
    and each message takes time from what it is busy with. After a refusal, each unit asks before it begins; so what
    begins in vain began within one pause.
    """

    def __init__(self, line: Line, *, at_once: bool, again: bool = False) -> None:
        """Report over ``line``; ``again`` says that the task was attempted before, so that some units may be over."""
        self._line = line
        self._asks = at_once or again or not line.is_wanted
        self._at_once = at_once
        self._changing = threading.Lock()
        self._begun: int | None = None
        """The unit that began last, if that was not reported."""

        self._ended: list[Numbered] = []
        """The results that were not reported."""

        self._unreceived: list[Numbered] = []
        """The results that the driver did not receive."""

    @contextmanager
    def periodic(self) -> Iterator[None]:
        """Report in a thread while the body runs, and what is left at its end, unless all is reported at once."""
        if self._at_once:
            yield
            return
        over = threading.Event()

        def report() -> None:
            while not over.wait(PAUSE_S):
                self._report()

        thread = threading.Thread(target=report, name="seatunnel-reports", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            self._report()

    def may_begin(self, number: int) -> bool:
        """Return whether a unit may begin, as far as is known; it counts as begun when this returns true."""
        if self._asks:
            return self._line.may_begin(number)
        with self._changing:
            self._begun = number
        return True

    def ended(self, number: int, result: UnitResult) -> None:
        """Take the result of a unit."""
        if self._at_once:
            self._send([(number, result)])
            return
        with self._changing:
            self._ended.append((number, result))

    def unreceived(self) -> list[Numbered]:
        """Return the results that the driver has not received, in the order of the works; Spark has to bring them."""
        return sorted(self._unreceived, key=lambda each: each[0])

    def _report(self) -> None:
        with self._changing:
            begun, ended = self._begun, self._ended
            self._begun, self._ended = None, []
        if ended:
            self._send(ended)
        if begun is not None and begun not in {number for number, _ in ended} and not self._line.may_begin(begun):
            self._asks = True

    def _send(self, results: list[Numbered]) -> None:
        if not self._line.report(results):
            self._unreceived.extend(results)
