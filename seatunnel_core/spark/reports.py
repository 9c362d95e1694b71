"""When a task asks the driver before it begins a unit, and when it reports results (protocol rule R15)."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from seatunnel_core.spark.report_channel import Numbered, ReportChannel
from seatunnel_core.spark.work import UnitResult
from seatunnel_core.work.vertex_work import VertexWork

PAUSE_S = 0.05
"""How often a task reports whose units may begin again."""

PROGRESS_S = 2.0
"""How often a task reports what units that still run have done so far."""


class Reports:
    """What one task reports over its channel. Several threads may use it.

    ``at_once``, for units that write into a target themselves or are read side by side, a unit begins when the driver
    allows it, and its result is reported when it ends.

    Other units, which may begin again, wait for nothing: every ``PAUSE_S`` a thread reports which unit began last and
    what has ended since. A driver that is busy with other pipelines answers after as long as several small units take,
    and each message takes time from what it is busy with. After a refusal, each unit asks before it begins; so what
    begins in vain began within one pause.
    """

    def __init__(self, channel: ReportChannel, *, at_once: bool, again: bool = False) -> None:
        """Report over ``channel``; ``again``: an earlier attempt of the task may have finished some units."""
        self._channel = channel
        self._asks = at_once or again or not channel.is_wanted
        self._at_once = at_once
        self._changing = threading.Lock()
        self._begun: int | None = None
        """The unit that began last, if that was not reported."""

        self._ended: list[Numbered] = []
        """The results that were not reported."""

        self._unreceived: list[Numbered] = []
        """The results that the driver did not receive."""

        self._running: dict[int, Callable[[], Mapping[str, VertexWork]]] = {}
        """By unit that runs: what returns its work so far."""

    @contextmanager
    def periodic(self) -> Iterator[None]:
        """Report in a thread while the body runs, and at its end what is left.

        Where all results are reported at once, the thread reports only the progress of units that run for long.
        """
        over = threading.Event()

        def report() -> None:
            next_s = time.monotonic() + PROGRESS_S
            while not over.wait(PROGRESS_S if self._at_once else PAUSE_S):
                self._report()
                if time.monotonic() >= next_s:
                    self._report_progress()
                    next_s = time.monotonic() + PROGRESS_S

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
            return self._channel.may_begin(number)
        with self._changing:
            self._begun = number
        return True

    def runs(self, number: int, work: Callable[[], Mapping[str, VertexWork]]) -> None:
        """Note that a unit runs; ``work`` returns what it has done so far."""
        with self._changing:
            self._running[number] = work

    def ended(self, number: int, result: UnitResult) -> None:
        """Take the result of a unit."""
        with self._changing:
            self._running.pop(number, None)
        if self._at_once:
            self._send([(number, result)])
            return
        with self._changing:
            self._ended.append((number, result))

    def unreceived(self) -> list[Numbered]:
        """Return the results that the driver has not received, in the order of the works; Spark has to bring them."""
        return sorted(self._unreceived, key=lambda each: each[0])

    def _report_progress(self) -> None:
        with self._changing:
            running = dict(self._running)
        if running:
            self._channel.progress({number: work() for number, work in running.items()})

    def _report(self) -> None:
        with self._changing:
            begun, ended = self._begun, self._ended
            self._begun, self._ended = None, []
        if ended:
            self._send(ended)
        if begun is not None and begun not in {number for number, _ in ended} and not self._channel.may_begin(begun):
            self._asks = True

    def _send(self, results: list[Numbered]) -> None:
        if not self._channel.report(results):
            self._unreceived.extend(results)
