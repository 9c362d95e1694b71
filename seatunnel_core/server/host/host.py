"""Jobs of a worker process and its request handlers. Every order contains the leader's term."""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from seatunnel_core import stored
from seatunnel_core.control.server import Verb
from seatunnel_core.reporting.open_metrics import Sample
from seatunnel_core.server import log_levels
from seatunnel_core.server.errors import HostError
from seatunnel_core.server.host.protocol import HostedJob, HostStatus
from seatunnel_core.server.host.warm_spark import SparkStanding
from seatunnel_core.server.state.records import DesiredState, JobRecord
from seatunnel_core.server.threads import thread_dump

logger = logging.getLogger("seatunnel.cluster")


class RunningJob(Protocol):
    """Interface of a running job: ``JobThread``."""

    record: JobRecord

    def start(self) -> None:
        """Start the job and return immediately."""

    def status(self) -> HostedJob:
        """Return the status of the job."""

    def samples(self) -> Sequence[Sample]:
        """Return the measurements of the job's pipelines."""

    def stop(self, how: DesiredState) -> None:
        """Stop the job and return immediately."""

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the end of the job; return True if it has ended."""


class Host:
    """Handler of requests and orders. Thread-safe. ``look_at_java`` returns the JVM's process ID or 0, and metrics."""

    def __init__(
        self,
        make_job: Callable[[JobRecord], RunningJob],
        *,
        pid: int,
        name: str,
        boot: str,
        offered: int,
        forget_log: Callable[[str], None] = lambda _: None,
        look_at_java: Callable[[], tuple[int, Sequence[Sample]]] = lambda: (0, ()),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pid = pid
        self._name = name
        self._boot = boot
        self._offered = offered
        self._make_job = make_job
        self._forget_log = forget_log
        self._look_at_java = look_at_java
        self._clock = clock
        self._changing = threading.RLock()
        self._jobs: dict[str, RunningJob] = {}
        self._term = 0
        self._heard_at = clock()
        self._told: tuple[int, HostStatus | None] = 0, None
        """Number and content of the status that was last returned; the number increases with each change."""

        self.spark = SparkStanding()
        self.leaving = threading.Event()

    @property
    def silence_s(self) -> float:
        """Time since the last request of an agent, in seconds."""
        return self._clock() - self._heard_at

    def verbs(self) -> Mapping[str, Verb]:
        """Return the request handlers by name."""
        return {
            "hello": self._hello,
            "status": self._status,
            "start": self._start,
            "stop": self._stop,
            "forget": self._forget,
            "leave": self._leave,
            "figures": self._figures,
            "log-level": _set_log_level,
            "threads": lambda _request: {"pid": self._pid, "threads": thread_dump()},
        }

    def _require_term(self, request: Mapping[str, Any]) -> None:
        """Check and record the term of a request. Raise HostError if the term is lower than an earlier one."""
        term = stored.number(request, "term")
        if term < self._term:
            raise HostError(f"a command of term {term} is rejected: a leader of term {self._term} has sent commands")
        if term > self._term:
            logger.info("accepting commands of term %d", term)
        self._term = term
        self._heard_at = self._clock()

    def _hello(self, _request: Mapping[str, Any]) -> Any:
        return {"pid": self._pid, "name": self._name, "boot": self._boot, "term": self._term}

    def _status(self, request: Mapping[str, Any]) -> Any:
        with self._changing:
            self._require_term(request)
            jobs = tuple(self._jobs.values())
        found = tuple(job.status() for job in jobs)
        spark = self.spark
        status = HostStatus(
            pid=self._pid,
            term=self._term,
            ready=spark.slots > 0 and not self.leaving.is_set(),
            slots=spark.slots,
            offered=self._offered,
            jobs=found,
            application=spark.application,
            executors=spark.executors,
        )
        with self._changing:
            if status != self._told[1]:
                self._told = self._told[0] + 1, status
            number = self._told[0]
        return {"unchanged": number} if request.get("seen") == number else {**status.record(), "number": number}

    def _start(self, request: Mapping[str, Any]) -> Any:
        record = JobRecord.from_bytes(stored.text(request, "job").encode())
        with self._changing:
            self._require_term(request)
            present = self._jobs.get(record.job_id)
            if present is not None and present.record.attempt >= record.attempt:
                return {}  # a repeated order
            if record.process != self._boot:  # that process ended before the agent received the order
                raise HostError(f"job {record.job_id} was assigned to worker process {record.process}, not to this one")
            if present is not None and not present.status().state.is_end:
                raise HostError(
                    f"attempt {present.record.attempt} of job {record.job_id} is still active in this process"
                )
            job = self._make_job(record)
            try:
                job.start()
            except RuntimeError as error:  # no more threads: the leader repeats the order
                raise HostError(f"job {record.job_id} cannot be started in this process now: {error}") from error
            self._jobs[record.job_id] = job
        return {}

    def _stop(self, request: Mapping[str, Any]) -> Any:
        how = DesiredState(stored.text(request, "how"))
        with self._changing:
            self._require_term(request)
            job = self._jobs.get(stored.text(request, "job_id"))
        if job is not None:
            job.stop(how)
        return {}

    def _forget(self, request: Mapping[str, Any]) -> Any:
        job_id = stored.text(request, "job_id")
        with self._changing:
            self._require_term(request)
            job = self._jobs.get(job_id)
            if job is None:
                return {}
            if not job.status().state.is_end:
                raise HostError(f"job {job_id} has not ended, so it cannot be dropped")
            del self._jobs[job_id]
        self._forget_log(job_id)
        return {}

    def _leave(self, request: Mapping[str, Any]) -> Any:
        with self._changing:
            self._require_term(request)
        self.leaving.set()
        return {}

    def _figures(self, _request: Mapping[str, Any]) -> Any:
        with self._changing:
            jobs = tuple(self._jobs.values())
        java, of_java = self._look_at_java()
        samples = [*of_java, *(sample for job in jobs for sample in job.samples())]
        processes = {"host": self._pid} | ({"java": java} if java else {})
        return {"host": self._name, "processes": processes, "samples": [sample.record() for sample in samples]}

    def stop_all(self, how: DesiredState, patience_s: float) -> bool:
        """Stop all jobs; return True if all have ended within ``patience_s``."""
        with self._changing:
            jobs = tuple(self._jobs.values())
        for job in jobs:
            job.stop(how)
        until = self._clock() + patience_s
        return all(job.join(max(0.0, until - self._clock())) for job in jobs)


def _set_log_level(request: Mapping[str, Any]) -> Any:
    """Set the level of a logger of this process, or reset it if the level is empty."""
    name, level = stored.text(request, "name"), stored.text(request, "level")
    return {"before": log_levels.change(name, level) if level else log_levels.reset(name)}
