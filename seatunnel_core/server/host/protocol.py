"""Messages between an agent and its worker process, over the process's socket: one line of JSON each way.

Each request is followed here by its response::

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
    {"error": "an order of term 6 is refused: a leader of term 7 has given orders"}

``job`` is the text of a ``JobRecord``, which contains the attempt and the process that runs it. ``jobs`` contains
``HostedJob`` records. Requests that carry ``term``, the leader's, are refused if the process has seen a higher one.
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
    """A job in a host."""

    job_id: str
    attempt: int
    """The attempt of the record by which it was started."""

    name: str = ""
    state: JobState
    """``SCHEDULED`` until it is claimed and planned, then ``RUNNING``, ``CANCELING``, ``DOING_SAVEPOINT`` or an end."""

    error: str = ""
    fenced: bool = False
    """Whether another attempt has taken the job over: then an end of this one is none of the job."""

    claimed: bool = added(True)
    """Whether this attempt has claimed the job; where none ever has, the job has left nothing behind."""

    metrics: Mapping[str, Any] = field(factory=dict)
    """By SeaTunnel's names."""

    pipelines: tuple[Any, ...] = ()
    """For screens and pages, as ``measured_record`` writes them; none of a job that has very many."""

    failures: tuple[Any, ...] = added(())
    """The last failures of its pipelines, as ``RecentFailure.record`` writes them, the oldest first."""

    series: Mapping[str, Any] = added(factory=dict)
    """Metrics over time, as ``JobSeries.record`` writes them; empty until the job has ended."""


@frozen(kw_only=True)
class HostStatus(Stored):
    """All that a host reports."""

    pid: int
    term: int
    """The highest term that it has seen."""

    ready: bool
    """Whether its Spark runs, and has executors."""

    slots: int
    """How many tasks its Spark runs at once now."""

    offered: int = 0
    """How many slots its jobs may hold; 0 when slots are dynamic, so that nobody counts them."""

    jobs: tuple[HostedJob, ...]
    application: str = ""
    """The id of its Spark at the master of a cluster; empty for Spark in its own process."""

    executors: int = 0
    """How many it has there."""

    @cached_property
    def _by_id(self) -> Mapping[str, HostedJob]:
        return {job.job_id: job for job in self.jobs}

    def job(self, job_id: str) -> HostedJob | None:
        """Return a job of the host, or ``None``."""
        return self._by_id.get(job_id)


def host_sockets(cluster: str, address: str, environment: Mapping[str, str] = os.environ) -> dict[int, Path]:
    """Return the sockets of the hosts that a member started, by process id. Some may be left from dead ones."""
    prefix = _prefix(cluster, address)
    found = (path for path in _folder(environment).glob(f"{prefix}-*.sock") if _SOCKET.fullmatch(path.name))
    return {int(path.stem.partition("-")[2]): path for path in found}


def host_socket(cluster: str, address: str, pid: int, environment: Mapping[str, str] = os.environ) -> Path:
    """Return where a host listens. The path of a socket is short by law, so its name is a hash."""
    return _folder(environment) / f"{_prefix(cluster, address)}-{pid}.sock"


def _folder(environment: Mapping[str, str]) -> Path:
    folder = control_folder(environment) / "hosts"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _prefix(cluster: str, address: str) -> str:
    return hashlib.sha256(f"{cluster}\n{address}".encode()).hexdigest()[:10]
