"""Metrics of a worker process's JVM, which are read without waiting for a hanging JVM."""

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
"""Maximum time that a request waits, in seconds. A JVM responds within milliseconds, except to the first request."""

FRESH_S = 1.0
"""Maximum age of returned metrics, in seconds."""

Read = Callable[[], tuple[int, Sequence[Figure]]]
"""Function that returns the JVM's process ID and metrics; raises ``PlatformError`` or ``OSError`` if unavailable."""


@frozen(kw_only=True)
class _Found:
    at: float
    pid: int
    samples: tuple[Sample, ...]


class JavaWatch:
    """Reader of a JVM's metrics: on demand, one read at a time, in a dedicated thread."""

    def __init__(self, read: Read, labels: Mapping[str, str], clock: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._labels = labels
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, "java figures")
        self._asking = threading.Lock()
        self._reading: Future[_Found] | None = None

    def probe(self) -> tuple[int, tuple[Sample, ...]]:
        """Return the JVM's process ID and samples; 0 and no samples while a read takes longer than ``WAIT_S``."""
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
            logger.debug("no metrics from the JVM: %s", error)
            return False
        return self._clock() - reading.result().at < FRESH_S

    def _look(self) -> _Found:
        pid, figures = self._read()
        samples = tuple(
            Sample(family, suffix, {**self._labels, **labels}, value) for family, suffix, labels, value in figures
        )
        return _Found(at=self._clock(), pid=pid, samples=samples)
