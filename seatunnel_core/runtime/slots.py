"""The slots of this process, where they are counted: how many each job has, and which one waits for some."""

import threading
from collections.abc import Callable

from seatunnel_core.config.engine_options import DYNAMIC_SLOT, SCHEDULE_STRATEGY, SLOT_NUM
from seatunnel_core.config.option import Options
from seatunnel_core.errors import UsageError
from seatunnel_core.planning.plan import PlannedJob


class Reservation:
    """The slots that one job has, or waits for; ``SlotService.reserve`` makes it."""

    def __init__(self, service: "SlotService", job_id: str, *, wanted: int, total: int) -> None:
        self.job_id = job_id
        self.wanted = wanted
        self.total = total
        self.slots = 0
        """How many work units of the job may run at once; 0 while it waits."""

        self.start: Callable[[], object] = lambda: None
        self._service = service

    def when_granted(self, start: Callable[[], object]) -> None:
        """Call ``start``, which is quick, when the job has its slots: now, or from the thread of a job that ends."""
        self._service.start_when_granted(self, start)

    def release(self) -> None:
        """Give the slots back, or wait no more. May be called twice."""
        self._service.release(self)


class SlotService:
    """The slots of a process, given to its jobs first come, first served.

    A job takes as many as it can use of those that are free. One is enough for any job: its work units take turns.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holding: list[Reservation] = []
        self._waiting: list[Reservation] = []

    def reserve(self, job: PlannedJob, job_id: str, options: Options) -> Reservation | None:
        """Reserve slots for a job, or a place in the queue; return ``None`` when slots are dynamic.

        Dynamic slots are not counted.

        Raises:
            UsageError: No slot is free, and ``job-schedule-strategy`` is ``REJECT``.
        """
        if options[DYNAMIC_SLOT]:
            return None
        wanted = sum(source.parallelism for pipeline in job.pipelines for source in pipeline.sources)
        asked = Reservation(self, job_id, wanted=wanted, total=options[SLOT_NUM])
        with self._lock:
            self._waiting.append(asked)
            self._grant()
            if asked in self._waiting and options[SCHEDULE_STRATEGY] == "REJECT":
                self._waiting.remove(asked)
                others = ", ".join(each.job_id for each in self._holding)
                raise UsageError(
                    f"the job {job_id} finds no free slot: {asked.total} may be used in this process, and they are "
                    f"taken by {others}. Wait for the end of one of them, write `job-schedule-strategy: WAIT` or a "
                    "larger `slot-num` in seatunnel.yaml, or leave `dynamic-slot` true"
                )
        return asked

    def start_when_granted(self, asked: Reservation, start: Callable[[], object]) -> None:
        """Call ``start`` when the job has its slots: now, or when another job ends."""
        with self._lock:
            asked.start = start
            if asked in self._holding:
                start()

    def release(self, held: Reservation) -> None:
        """Take a job's slots back, or its place in the queue, and grant what is free to those that wait."""
        with self._lock:
            for line in (self._holding, self._waiting):
                if held in line:
                    line.remove(held)
            self._grant()

    def _grant(self) -> None:
        while self._waiting:
            first = self._waiting[0]
            free = first.total - sum(each.slots for each in self._holding)
            if free <= 0:
                return
            first.slots = min(first.wanted, free)
            self._holding.append(self._waiting.pop(0))
            first.start()


SLOTS = SlotService()
"""The slots of this process."""
