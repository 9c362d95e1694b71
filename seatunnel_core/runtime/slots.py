"""Slots of this process, granted to its jobs, and the queue of waiting jobs."""

import threading
from collections.abc import Callable

from seatunnel_core.config.engine_options import DYNAMIC_SLOT, SCHEDULE_STRATEGY, SLOT_NUM
from seatunnel_core.config.option import Options
from seatunnel_core.errors import UsageError
from seatunnel_core.planning.plan import PlannedJob


class Reservation:
    """Slots that a job holds or waits for, created by ``SlotService.reserve``."""

    def __init__(self, service: "SlotService", job_id: str, *, wanted: int, total: int) -> None:
        self.job_id = job_id
        self.wanted = wanted
        self.total = total
        self.slots = 0
        """Maximum concurrent work units of the job; 0 while it waits."""

        self.start: Callable[[], object] = lambda: None
        self._service = service

    def when_granted(self, start: Callable[[], object]) -> None:
        """Call ``start`` once the job has slots: now, or from the thread of a job that ends.

        ``start`` must return quickly.
        """
        self._service.start_when_granted(self, start)

    def release(self) -> None:
        """Release the slots or leave the queue. Idempotent."""
        self._service.release(self)


class SlotService:
    """Slots of a process, granted to its jobs in order of arrival: as many as are free and needed, but at least one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holding: list[Reservation] = []
        self._waiting: list[Reservation] = []

    def reserve(self, job: PlannedJob, job_id: str, options: Options) -> Reservation | None:
        """Reserve slots or a place in the queue for a job; return ``None`` if slots are dynamic."""
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
                    f"no free slot for the job {job_id}: this process has {asked.total}, all in use by {others}. Wait "
                    "until one of these jobs has ended, set `job-schedule-strategy: WAIT` or a larger `slot-num` in "
                    "seatunnel.yaml, or leave `dynamic-slot` true"
                )
        return asked

    def start_when_granted(self, asked: Reservation, start: Callable[[], object]) -> None:
        """Call ``start`` once the job has slots: now, or when another job ends."""
        with self._lock:
            asked.start = start
            if asked in self._holding:
                start()

    def release(self, held: Reservation) -> None:
        """Release a job's slots or its place in the queue, and grant free slots to waiting jobs."""
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
