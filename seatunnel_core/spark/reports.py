"""Timing of a task's messages to the driver: when the task requests a unit and when it reports results (rule R15)."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from seatunnel_core.spark.report_channel import Numbered, ReportChannel
from seatunnel_core.spark.work import UnitResult
from seatunnel_core.work.vertex_work import VertexWork

PAUSE_S = 0.05
"""Interval between reports of a task with repeatable units, in seconds."""

PROGRESS_S = 2.0
"""Interval at which a task reports the progress of running units, in seconds."""


class Reports:
    """Reports of a task over its channel. Thread-safe.

    With ``at_once``, for units that write directly to a target or are read concurrently, a unit begins when the driver
    allows it, and its result is reported when it ends.

    Other units can safely be restarted, so they begin without waiting for the driver's permission. Every ``PAUSE_S``, a
    thread reports the unit that began last and the results since the last report. A busy driver takes as long to
    respond as several small units take to run, and each message adds to its load. Once the driver has refused a unit,
    each unit requests permission first, so that at most the units of one interval begin unnecessarily.
    """

    def __init__(self, channel: ReportChannel, *, at_once: bool, again: bool = False) -> None:
        """Report over ``channel``. ``again`` is True if an earlier attempt of the task may have finished some units."""
        self._channel = channel
        self._asks = at_once or again or not channel.is_wanted
        self._at_once = at_once
        self._changing = threading.Lock()
        self._begun: int | None = None
        """Last unit that has begun, until its start is reported."""

        self._ended: list[Numbered] = []
        """Unreported results."""

        self._unreceived: list[Numbered] = []
        """Results that the driver did not receive."""

        self._running: dict[int, Callable[[], Mapping[str, VertexWork]]] = {}
        """Functions that return the progress of each running unit."""

    @contextmanager
    def periodic(self) -> Iterator[None]:
        """Report in a thread while the body runs, and report the remaining results at the end.

        If results are reported immediately, the thread only reports the progress of long units.
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
        """Return True if a unit may begin, and record that it has begun."""
        if self._asks:
            return self._channel.may_begin(number)
        with self._changing:
            self._begun = number
        return True

    def runs(self, number: int, work: Callable[[], Mapping[str, VertexWork]]) -> None:
        """Record that a unit is running; ``work`` returns its progress."""
        with self._changing:
            self._running[number] = work

    def ended(self, number: int, result: UnitResult) -> None:
        """Record the result of a unit."""
        with self._changing:
            self._running.pop(number, None)
        if self._at_once:
            self._send([(number, result)])
            return
        with self._changing:
            self._ended.append((number, result))

    def unreceived(self) -> list[Numbered]:
        """Return the results that the driver has not received, in item order, so that Spark can return them instead."""
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
