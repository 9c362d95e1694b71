"""What the system tells of the processes of a node: its agent, its hosts, and the JVM of each host."""

from collections.abc import Iterator, Mapping

from attrs import frozen

from seatunnel_core.reporting.open_metrics import Family, Sample

_LABELS = ("address", "process", "host")


def _family(name: str, kind: str, help: str) -> Family:
    return Family(name=name, kind=kind, help=help, labels=_LABELS)


OF_PROCESSES: tuple[Family, ...] = (
    _family("process_cpu_seconds", "counter", "Seconds of processors, of the user and the system."),
    _family("process_start_time_seconds", "gauge", "When it was started, in seconds since 1970."),
    _family("process_resident_memory_bytes", "gauge", "Bytes of memory, those included that are shared with others."),
    _family("process_virtual_memory_bytes", "gauge", "Bytes of addresses."),
    _family("process_open_fds", "gauge", "Open files and sockets."),
    _family("process_max_fds", "gauge", "So many it may open."),
)


@frozen(kw_only=True)
class Process:
    """A process of a node."""

    kind: str
    """``agent``, ``host`` or ``java``."""

    host: str
    """The name of the host whose it is; empty for the agent."""

    pid: int


def samples_of(process: Process, labels: Mapping[str, str]) -> Iterator[Sample]:
    """Yield what the system tells of a process; nothing of one that is gone.

    Raises:
        ImportError: the client of Prometheus is not installed.
    """
    from prometheus_client import ProcessCollector

    whose = {**labels, "process": process.kind, "host": process.host}
    for metric in ProcessCollector(pid=lambda: process.pid, registry=None).collect():
        for sample in metric.samples:
            yield Sample(metric.name, sample.name.removeprefix(metric.name), whose, sample.value)
