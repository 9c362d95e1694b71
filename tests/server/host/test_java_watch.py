"""The figures of a JVM for who asks a host: fresh, or none, and nobody waits for one that hangs."""

import threading
import time
from collections.abc import Sequence

from seatunnel_core.server.host.java_watch import FRESH_S, JavaWatch
from seatunnel_core.spark.java_metrics import Figure

FIGURE: Figure = ("jvm_threads_current", "", {"more": "1"}, 7)


def test_figures_are_read_once_however_often_one_asks() -> None:
    now, reads = [100.0], []

    def read() -> tuple[int, Sequence[Figure]]:
        reads.append(now[0])
        return 42, [FIGURE]

    watch = JavaWatch(read, {"host": "shared"}, lambda: now[0])
    for _ in range(3):
        pid, (sample,) = watch.probe()
        assert (pid, sample.record()) == (42, ["jvm_threads_current", "", {"host": "shared", "more": "1"}, 7])
    assert reads == [100.0]
    now[0] += FRESH_S
    assert watch.probe()[0] == 42
    assert reads == [100.0, 100.0 + FRESH_S]


def test_nobody_waits_twice_for_a_jvm_that_hangs() -> None:
    goes_on, reads = threading.Event(), []

    def read() -> tuple[int, Sequence[Figure]]:
        reads.append(1)
        assert goes_on.wait(120)
        return 42, [FIGURE]

    watch = JavaWatch(read, {})
    assert watch.probe() == (0, ())
    began = time.monotonic()
    assert [watch.probe() for _ in range(5)] == [(0, ())] * 5
    assert time.monotonic() - began < 60
    goes_on.set()
    until = time.monotonic() + 60
    while watch.probe()[0] != 42:
        assert time.monotonic() < until
    assert len(reads) == 1


def test_a_jvm_that_is_not_there_tells_nothing_and_is_asked_again() -> None:
    reads = []

    def read() -> tuple[int, Sequence[Figure]]:
        reads.append(1)
        if len(reads) == 1:
            raise ConnectionError("it is not there yet")
        return 42, [FIGURE]

    watch = JavaWatch(read, {})
    assert watch.probe() == (0, ())
    assert watch.probe()[0] == 42
