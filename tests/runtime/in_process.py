"""Tasks without Spark: the same packets, run by a thread of this process. For tests of what the runtime does around
them, with real sources, sinks and storages."""

import itertools
from collections.abc import Sequence
from typing import Any

from pyspark import cloudpickle

from seatunnel_core.spark.plane import Parcel, SparkPlane
from seatunnel_core.spark.task import Packet, Result, run_packet

_ATTEMPTS = itertools.count(1)


class InProcessPlane(SparkPlane):
    """Runs what a Spark task would run."""

    def start(self) -> None:
        self._slots = 2

    def stop(self) -> None:
        for _ in self._errand_threads:
            self._errands.put(None)
        self._errand_threads.clear()

    @property
    def shares_disk(self) -> bool:
        return True

    def pack(self, thing: Any, whole: Any = None) -> Parcel:
        return Parcel(self._unique_name(), cloudpickle.dumps(thing))

    def run(self, packets: Sequence[Packet], tag: str) -> list[Result]:
        return [result for packet in packets for result in run_packet(packet, next(_ATTEMPTS))]
