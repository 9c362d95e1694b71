"""Tasks without Spark: the same batches, run by a thread of this process. For tests of what the runtime does around
them, with real sources, sinks and storages."""

import itertools
import threading
from collections.abc import Sequence
from typing import Any

from pyspark import cloudpickle

from seatunnel_core.spark.backend import SparkBackend
from seatunnel_core.spark.pickles import Pickles
from seatunnel_core.spark.report_channel import Numbered, ReportChannel, TaskListener
from seatunnel_core.spark.starting.settings import SparkSettings
from seatunnel_core.spark.task import run_batch
from seatunnel_core.spark.task_batch import PackedObject
from seatunnel_core.spark.work import Result, TaskBatch, UnitResult

_ATTEMPTS = itertools.count(1)
_PATIENCE_S = 60


class _DirectChannel(ReportChannel):
    """A channel without a wire."""

    def __init__(self, listener: TaskListener) -> None:
        super().__init__(None)
        self._hearing = listener

    def may_begin(self, number: int) -> bool:
        return self._hearing.begins(number)

    def report(self, results: Sequence[Numbered]) -> bool:
        self._hearing.ended(results)
        return True


class _WholePickles(Pickles):
    """None of them is broadcast, however large it is."""

    def pack(self, thing: Any, whole: Any = None) -> PackedObject:
        return PackedObject(self._new_name(), cloudpickle.dumps(thing))


class InProcessBackend(SparkBackend):
    """Runs what a Spark task would run."""

    def __init__(self, settings: SparkSettings) -> None:
        super().__init__(settings)
        self._pickles = _WholePickles(self._unique_name, lambda: self.context)
        self._jobs = 0
        self._job_ended = threading.Condition()

    def start(self) -> None:
        self._slots = 2

    def stop(self) -> None:
        self._requests.close()
        with self._job_ended:  # a task does not outlive its executors: it would stage a file that nobody sweeps
            assert self._job_ended.wait_for(lambda: not self._jobs, _PATIENCE_S), "a task hangs"

    @property
    def shares_disk(self) -> bool:
        return True

    def run_units(self, batch: TaskBatch, tag: str, listener: TaskListener) -> list[tuple[int, UnitResult]]:
        listener.reached()
        found = self._here([batch], _DirectChannel(listener))
        return [(number, result) for number, result in found if isinstance(result, UnitResult)]

    def run(self, batches: Sequence[TaskBatch], tag: str) -> list[Result]:
        return [result for _, result in self._here(batches)]

    def _here(self, batches: Sequence[TaskBatch], channel: ReportChannel | None = None) -> list[tuple[int, Result]]:
        with self._job_ended:
            self._jobs += 1
        try:
            return [each for batch in batches for each in run_batch(batch, next(_ATTEMPTS), channel)]
        finally:
            with self._job_ended:
                self._jobs -= 1
                self._job_ended.notify_all()
