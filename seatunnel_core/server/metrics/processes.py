"""Operating-system metrics of a node's processes: agent, worker processes and their JVMs."""

from collections.abc import Iterator, Mapping

from attrs import frozen

from seatunnel_core.reporting.open_metrics import Family, Sample

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
