"""The figures of a host's JVM, for who asks the host for them: nobody waits for a JVM that hangs."""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

from attrs import frozen

from seatunnel_core.reporting.open_metrics import Sample
from seatunnel_core.spark.java_metrics import Figure

logger = logging.getLogger("seatunnel.cluster")

WAIT_S = 0.3
"""For so long who asks waits: a JVM answers within milliseconds, but the first time."""

FRESH_S = 1.0
"""So old figures may be."""

Read = Callable[[], tuple[int, Sequence[Figure]]]
"""Returns the id of the JVM's process and its figures; raises ``PlatformError`` or ``OSError`` where there are none."""


@frozen(kw_only=True)
class _Found:
    at: float
    pid: int
    samples: tuple[Sample, ...]


class JavaWatch:
    """Reads the figures of a JVM when somebody asks for them, one after the other in a thread of its own.

    Args:
        read: reads them.
        labels: of all samples.
        clock: monotonic seconds.
    """

    def __init__(self, read: Read, labels: Mapping[str, str], clock: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._labels = labels
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, "java figures")
        self._asking = threading.Lock()
        self._reading: Future[_Found] | None = None

    def look(self) -> tuple[int, tuple[Sample, ...]]:
        """Return the id of the JVM's process and its samples; 0 and none where they are not known within ``WAIT_S``.

        While an earlier question has no answer, none is known, and nobody waits.
        """
        with self._asking:
            reading = self._reading
            if reading is None or (reading.done() and not self._is_fresh(reading)):
                reading = self._reading = self._thread.submit(self._look)
                wait([reading], WAIT_S)
            if not reading.done() or not self._is_fresh(reading):
                return 0, ()
            found = reading.result()
            return found.pid, found.samples

    def _is_fresh(self, reading: "Future[_Found]") -> bool:
        error = reading.exception()
        if error is not None:
            logger.debug("the JVM tells no figures: %s", error)
            return False
        return self._clock() - reading.result().at < FRESH_S

    def _look(self) -> _Found:
        pid, figures = self._read()
        samples = tuple(
            Sample(family, suffix, {**self._labels, **labels}, value) for family, suffix, labels, value in figures
        )
        return _Found(at=self._clock(), pid=pid, samples=samples)
