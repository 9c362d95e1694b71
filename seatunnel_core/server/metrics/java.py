"""The figures of the JVM of each host, by the names of Prometheus' client for Java, which SeaTunnel serves."""

from seatunnel_core.reporting.open_metrics import Family

_WHOSE = ("address", "host")


def _gauge(name: str, help: str, *labels: str) -> Family:
    return Family(name=name, kind="gauge", help=help, labels=(*_WHOSE, *labels))


def _counter(name: str, help: str) -> Family:
    return Family(name=name, kind="counter", help=help, labels=_WHOSE)


_SIZES = {"used": "in use", "committed": "that the system gave", "max": "at most, -1 if unbounded", "init": "at first"}

OF_JAVA: tuple[Family, ...] = (
    *(_gauge(f"jvm_memory_bytes_{key}", f"Bytes of memory {text}.", "area") for key, text in _SIZES.items()),
    *(_gauge(f"jvm_memory_pool_bytes_{key}", f"Bytes of a pool {text}.", "pool") for key, text in _SIZES.items()),
    _gauge("jvm_memory_pool_collection_used_bytes", "Bytes of a pool in use after its last collection.", "pool"),
    Family(
        name="jvm_gc_collection_seconds",
        kind="summary",
        help="How often a collector ran, and for how long in all.",
        labels=(*_WHOSE, "gc"),
    ),
    _gauge("jvm_buffer_pool_used_bytes", "Bytes of buffers outside of the heap.", "pool"),
    _gauge("jvm_buffer_pool_capacity_bytes", "Bytes that these buffers have room for.", "pool"),
    _gauge("jvm_buffer_pool_used_buffers", "So many buffers there are.", "pool"),
    _gauge("jvm_classes_currently_loaded", "Classes that are loaded."),
    _counter("jvm_classes_loaded", "Classes that were loaded since the start."),
    _counter("jvm_classes_unloaded", "Classes that were unloaded since the start."),
    _gauge("jvm_threads_current", "Threads."),
    _gauge("jvm_threads_daemon", "Threads that do not keep the JVM alive."),
    _gauge("jvm_threads_peak", "The most threads at once."),
    _counter("jvm_threads_started", "Threads that were started."),
    _gauge("jvm_threads_state", "Threads by their state.", "state"),
    _gauge("jvm_info", "1, with what JVM it is.", "runtime", "vendor", "version"),
)
