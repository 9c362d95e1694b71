"""Metrics of the JVM of each worker process, with the names that Prometheus' Java client and SeaTunnel use."""

from seatunnel_core.reporting.open_metrics import Family

_WHOSE = ("address", "host")


def _gauge(name: str, help: str, *labels: str) -> Family:
    return Family(name, "gauge", help, (*_WHOSE, *labels))


def _counter(name: str, help: str) -> Family:
    return Family(name, "counter", help, _WHOSE)


_SIZES = {"used": "used", "committed": "committed", "max": "maximum, -1 if unbounded", "init": "initial"}

OF_JAVA: tuple[Family, ...] = (
    *(_gauge(f"jvm_memory_bytes_{key}", f"Bytes of memory: {text}.", "area") for key, text in _SIZES.items()),
    *(_gauge(f"jvm_memory_pool_bytes_{key}", f"Bytes of a pool: {text}.", "pool") for key, text in _SIZES.items()),
    _gauge("jvm_memory_pool_collection_used_bytes", "Bytes of a pool in use after its last collection.", "pool"),
    Family("jvm_gc_collection_seconds", "summary", "Number and total duration of a collector's runs.", (*_WHOSE, "gc")),
    _gauge("jvm_buffer_pool_used_bytes", "Bytes of buffers outside the heap.", "pool"),
    _gauge("jvm_buffer_pool_capacity_bytes", "Capacity of buffers outside the heap, in bytes.", "pool"),
    _gauge("jvm_buffer_pool_used_buffers", "Number of buffers.", "pool"),
    _gauge("jvm_classes_currently_loaded", "Currently loaded classes."),
    _counter("jvm_classes_loaded", "Classes loaded since the start."),
    _counter("jvm_classes_unloaded", "Classes unloaded since the start."),
    _gauge("jvm_threads_current", "Threads."),
    _gauge("jvm_threads_daemon", "Daemon threads."),
    _gauge("jvm_threads_peak", "Peak number of threads."),
    _counter("jvm_threads_started", "Threads started since the start."),
    _gauge("jvm_threads_state", "Threads by state.", "state"),
    _gauge("jvm_info", "1, with information about the JVM as labels.", "runtime", "vendor", "version"),
)
