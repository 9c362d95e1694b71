"""Metrics of a node: the cluster as known to the node, and the jobs in its worker processes."""

import asyncio
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from attrs import frozen

from seatunnel_core import stored
from seatunnel_core.clock import wall_clock
from seatunnel_core.errors import StoredValueError
from seatunnel_core.reporting.open_metrics import FAMILIES, Family, Sample
from seatunnel_core.server.host.protocol import HostedJob
from seatunnel_core.server.metrics.java import OF_JAVA
from seatunnel_core.server.observed_node import ObservedNode
from seatunnel_core.server.state.records import JobState

_LABELS = ("address", "process", "host")


def _family(name: str, kind: str, help: str) -> Family:
    return Family(name, kind, help, _LABELS)


OF_PROCESSES: tuple[Family, ...] = (
    _family("process_cpu_seconds", "counter", "User and system CPU time, in seconds."),
    _family("process_start_time_seconds", "gauge", "Start time, in seconds since 1970."),
    _family("process_resident_memory_bytes", "gauge", "Resident memory including shared memory, in bytes."),
    _family("process_virtual_memory_bytes", "gauge", "Virtual memory, in bytes."),
    _family("process_open_fds", "gauge", "Open files and sockets."),
    _family("process_max_fds", "gauge", "Maximum number of open files."),
)


@frozen(kw_only=True)
class Process:
    """A process of a node."""

    kind: str
    """Kind of process: ``agent``, ``host`` or ``java``."""

    host: str
    """Name of its worker process; empty for the agent."""

    pid: int


def samples_of(process: Process, labels: Mapping[str, str]) -> Iterator[Sample]:
    """Yield the samples of a process; none if it has ended."""
    from prometheus_client import ProcessCollector

    whose = {**labels, "process": process.kind, "host": process.host}
    for metric in ProcessCollector(pid=lambda: process.pid, registry=None).collect():
        for sample in metric.samples:
            yield Sample(metric.name, sample.name.removeprefix(metric.name), whose, sample.value)


FRESH_S = 1.0
"""Maximum age of metrics, in seconds. Worker processes are queried at most once in this period."""

_JOB_TYPES = {
    JobState.PENDING: "created",
    JobState.SCHEDULED: "scheduled",
    JobState.RUNNING: "running",
    JobState.DOING_SAVEPOINT: "running",
    JobState.CANCELING: "cancelling",
    JobState.CANCELED: "canceled",
    JobState.FAILED: "failed",
    JobState.FINISHED: "finished",
    JobState.SAVEPOINT_DONE: "savepoint_done",
}
"""Names of job states in SeaTunnel's metric ``job_count``. SeaTunnel has no ``savepoint_done``."""

_MOVED = {"read": "SourceReceived", "written": "SinkWrite", "committed": "SinkCommitted"}


def _of_jobs(name: str, kind: str, help: str, *labels: str) -> Family:
    return Family(name, kind, help, ("job_id", "job_name", *labels))


OF_NODES: tuple[Family, ...] = (
    Family("seatunnel_term", "gauge", "Newest leader term known to this node."),
    Family("seatunnel_leads", "gauge", "1 on the leader, else 0.", ("address",)),
    Family("seatunnel_slots", "gauge", "Slots of all nodes, reported by the leader; 0 if dynamic.", ("state",)),
    Family(
        "seatunnel_hosts",
        "gauge",
        "Worker processes of this node, by readiness of Spark.",
        ("address", "ready"),
    ),
    _of_jobs("seatunnel_job_state", "gauge", "1 for the current state of a job on this node.", "state"),
    _of_jobs("seatunnel_job_rows", "counter", "Rows of a job on this node: read, written, committed.", "step"),
    _of_jobs("seatunnel_job_bytes", "counter", "Bytes of a job on this node: read, written, committed.", "step"),
)
"""Metric families of nodes, in addition to the families in ``open_metrics``."""

ALL_FAMILIES = (*FAMILIES, *OF_NODES, *OF_JAVA, *OF_PROCESSES)


class Figures:
    """Metrics of one node."""

    def __init__(self, agent: ObservedNode) -> None:
        self._agent = agent
        self._asking = asyncio.Lock()
        self._found: tuple[Sample, ...] = ()
        self._found_at = float("-inf")

    async def samples(self) -> tuple[Sample, ...]:
        """Return the samples of all families, at most ``FRESH_S`` old."""
        async with self._asking:
            if time.monotonic() - self._found_at >= FRESH_S:
                of_hosts, processes = await self._of_hosts()
                of_processes = await asyncio.to_thread(self._of_processes, processes)
                self._found = (*self._of_cluster(), *self._of_jobs(), *of_hosts, *of_processes)
                self._found_at = time.monotonic()
            return self._found

    async def _of_hosts(self) -> tuple[list[Sample], list[Process]]:
        """Return the samples and processes reported by worker processes."""
        found: list[Sample] = []
        processes: list[Process] = []
        for answer in await self._agent.ask_hosts({"do": "figures"}):
            try:
                found += [Sample.from_record(each) for each in stored.items(answer, "samples")]
                host, pids = stored.text(answer, "host") or "shared", stored.below(answer, "processes")
                processes += [Process(kind=kind, host=host, pid=stored.number(pids, kind)) for kind in pids]
            except StoredValueError:  # a worker process of another version, left by an earlier agent
                continue
        return found, processes

    def _of_processes(self, of_hosts: Iterable[Process]) -> list[Sample]:
        own, labels = Process(kind="agent", host="", pid=os.getpid()), {"address": self._agent.address}
        return [sample for each in (own, *of_hosts) for sample in samples_of(each, labels)]

    def _of_cluster(self) -> Iterator[Sample]:
        known = self._agent.describe()
        nodes = list(dict.fromkeys([*known["members"], *known["workers"], self._agent.address]))
        yield Sample("cluster_info", "", {"master": known["leader"]}, 1)
        yield Sample("cluster_time", "", {}, int(wall_clock() * 1000))
        yield Sample("node_count", "", {}, len(nodes))
        yield Sample("node_state", "", {"address": self._agent.address}, 1)
        yield Sample("seatunnel_term", "", {}, known["term"])
        yield Sample("seatunnel_leads", "", {"address": self._agent.address}, int(known["leads"]))
        if self._agent.state is not None:
            yield from self._of_leader()

    def _of_leader(self) -> Iterator[Sample]:
        """Yield samples that only the leader can measure."""
        assert self._agent.state is not None
        found = self._agent.state.snapshot()
        states = [*(self._agent.users.state_of(job) for job in found.jobs.values())]
        states += [job.state for job in found.history.values()]
        counted = Counter(_JOB_TYPES[state] for state in states)
        for kind in dict.fromkeys([*_JOB_TYPES.values(), "failing"]):
            yield Sample("job_count", "", {"type": kind}, counted[kind])
        _, slots = self._agent.users.members_with({})
        yield Sample("seatunnel_slots", "", {"state": "total"}, slots.total)
        yield Sample("seatunnel_slots", "", {"state": "free"}, max(0, slots.free))

    def _of_jobs(self) -> Iterator[Sample]:
        report = self._agent.report()
        hosts = () if report is None else report.hosts
        ready = Counter(host.status is not None and host.status.ready for host in hosts)
        for is_ready in (True, False):
            labels = {"address": self._agent.address, "ready": str(is_ready).lower()}
            yield Sample("seatunnel_hosts", "", labels, ready[is_ready])
        for host in hosts:
            for job in host.status.jobs if host.status is not None else ():
                yield from _of_job(job)


def _of_job(job: HostedJob) -> Iterator[Sample]:
    labels = {"job_id": job.job_id, "job_name": job.name}
    yield Sample("seatunnel_job_state", "", {**labels, "state": job.state.value}, 1)
    for step, prefix in _MOVED.items():
        for family, what in (("seatunnel_job_rows", "Count"), ("seatunnel_job_bytes", "Bytes")):
            if prefix + what in job.metrics:
                yield Sample(family, "_total", {**labels, "step": step}, float(job.metrics[prefix + what]))


def by_family(samples: Iterable[Sample]) -> Mapping[str, list[Sample]]:
    """Group samples by family name, in the order in which the page lists them. Samples without a family are omitted."""
    found: dict[str, list[Sample]] = {family.name: [] for family in ALL_FAMILIES}
    for sample in samples:
        if sample.family in found:
            found[sample.family].append(sample)
    return found


def page(samples: Iterable[Sample], cluster: str, *, open_metrics: bool) -> bytes:
    """Format samples in the OpenMetrics or Prometheus text format; ``cluster`` becomes a label of all samples."""
    from prometheus_client import CollectorRegistry
    from prometheus_client.exposition import generate_latest
    from prometheus_client.openmetrics import exposition

    registry = CollectorRegistry()
    registry.register(_Collector(samples, cluster))
    written: Callable[[CollectorRegistry], bytes] = exposition.generate_latest if open_metrics else generate_latest
    return written(registry)


class _Collector:
    def __init__(self, samples: Iterable[Sample], cluster: str) -> None:
        self._samples = by_family(samples)
        self._cluster = cluster

    def describe(self) -> tuple[()]:
        """Return no families. No other collector of the registry uses these names."""
        return ()

    def collect(self) -> Iterator[Any]:
        """Yield all families, including families without samples, so that alerts can be defined for them."""
        from prometheus_client import Metric

        for family in ALL_FAMILIES:
            found = Metric(family.name, family.help, family.kind)
            for sample in self._samples[family.name]:
                labels = {"cluster": self._cluster, **sample.labels}
                found.add_sample(sample.family + sample.suffix, labels, sample.value)
            yield found
