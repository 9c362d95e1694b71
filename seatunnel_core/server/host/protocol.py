"""Messages between an agent and its worker process, over the process's socket: one line of JSON each way.

Requests, each followed by its response::

    {"do": "hello"}
    {"answer": {"pid": 42, "name": "", "boot": "b", "term": 7}}

    {"do": "status", "term": 7}
    {"answer": {"pid": 42, "term": 7, "ready": true, "slots": 4, "offered": 0, "jobs": [], "application": "",
                "executors": 0, "number": 1}}

    {"do": "status", "term": 7, "seen": 1}
    {"answer": {"unchanged": 1}}

    {"do": "start", "term": 7, "job": "{…}"}
    {"answer": {}}

    {"do": "stop", "term": 7, "job_id": "1", "how": "cancel"}
    {"answer": {}}

    {"do": "forget", "term": 7, "job_id": "1"}
    {"answer": {}}

    {"do": "leave", "term": 7}
    {"answer": {}}

    {"do": "figures"}
    {"answer": {"host": "", "processes": {"host": 42, "java": 43}, "samples": []}}

    {"do": "log-level", "name": "seatunnel", "level": "DEBUG"}
    {"answer": {"before": "INFO"}}

    {"do": "threads"}
    {"answer": {"pid": 42, "threads": []}}

    {"do": "stop", "term": 6, "job_id": "1", "how": "cancel"}
    {"error": "an order of term 6 is rejected: a leader of term 7 has sent orders"}

``job`` is the text of a ``JobRecord``, which contains the attempt and the process that runs it. ``jobs`` contains
``HostedJob`` records. Requests with the leader's ``term`` are rejected if the process has seen a higher one.
"""

import hashlib
import os
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from attrs import field, frozen

from seatunnel_core.control.sockets import control_folder
from seatunnel_core.server.state.records import JobState
from seatunnel_core.stored_fields import Stored, added

_SOCKET = re.compile(r"[0-9a-f]{10}-(\d+)\.sock", re.ASCII)


@frozen(kw_only=True)
class HostedJob(Stored):
    """Status of a job in a worker process."""

    job_id: str
    attempt: int
    """Number of the attempt, from the record with which the job was started."""

    name: str = ""
    state: JobState
    """``SCHEDULED`` until planned, then ``RUNNING``, ``CANCELING``, ``DOING_SAVEPOINT`` or a final state."""

    error: str = ""
    fenced: bool = False
    """True if another attempt has taken over the job, so that the end of this attempt does not end the job."""

    claimed: bool = added(True)
    """True if this attempt or an earlier one may have claimed the job. An unclaimed job has no stored state."""

    metrics: Mapping[str, Any] = field(factory=dict)
    """Metrics, keyed by SeaTunnel's names."""

    pipelines: tuple[Any, ...] = ()
    """Measurements of the pipelines for display, in the format of ``measured_record``; none if there are very many."""

    failures: tuple[Any, ...] = added(())
    """Last failures of the pipelines in the format of ``RecentFailure.record``, the oldest first."""

    series: Mapping[str, Any] = added(factory=dict)
    """Metrics over time in the format of ``JobSeries.record``; empty until the job has ended."""


@frozen(kw_only=True)
class HostStatus(Stored):
    """Status of a worker process."""

    pid: int
    term: int
    """Highest term that the process has seen."""

    ready: bool
    """True if Spark is running and has executors."""

    slots: int
    """Current number of concurrent Spark tasks."""

    offered: int = 0
    """Number of slots that jobs can use; 0 for dynamic slots, which are not counted."""

    jobs: tuple[HostedJob, ...]
    application: str = ""
    """Application ID at the Spark master; empty for embedded Spark."""

    executors: int = 0
    """Number of executors on the Spark cluster."""

    @cached_property
    def _by_id(self) -> Mapping[str, HostedJob]:
        return {job.job_id: job for job in self.jobs}

    def job(self, job_id: str) -> HostedJob | None:
        """Return a job of the process, or ``None``."""
        return self._by_id.get(job_id)


def host_sockets(cluster: str, address: str, environment: Mapping[str, str] = os.environ) -> dict[int, Path]:
    """Return the sockets of a member's worker processes by process ID. Some processes may have ended."""
    prefix = _prefix(cluster, address)
    found = (path for path in _folder(environment).glob(f"{prefix}-*.sock") if _SOCKET.fullmatch(path.name))
    return {int(path.stem.partition("-")[2]): path for path in found}


def host_socket(cluster: str, address: str, pid: int, environment: Mapping[str, str] = os.environ) -> Path:
    """Return the socket path of a worker process. The name is a hash, because the system limits the path's length."""
    return _folder(environment) / f"{_prefix(cluster, address)}-{pid}.sock"


def _folder(environment: Mapping[str, str]) -> Path:
    folder = control_folder(environment) / "hosts"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _prefix(cluster: str, address: str) -> str:
    return hashlib.sha256(f"{cluster}\n{address}".encode()).hexdigest()[:10]
