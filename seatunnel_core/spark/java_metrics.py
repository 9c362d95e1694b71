"""Metrics of the JVM of a running Spark: memory, classes, threads and garbage collections."""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from seatunnel_core.spark.spark_errors import spark_says

if TYPE_CHECKING:
    from pyspark import SparkContext

Figure = tuple[str, str, Mapping[str, str], float]
"""Metric sample: SeaTunnel's name of the metric family, the sample's suffix, its labels, and its value."""

_STATES = ("new", "runnable", "blocked", "waiting", "timed_waiting", "terminated")
_THREADS = (*("count", "daemon.count", "peak.count", "total_started.count"), *(f"{state}.count" for state in _STATES))
"""Thread metrics to read: all thread states, but not deadlocks, because detecting them pauses all threads."""


class JavaMetrics:
    """Reader of all metrics of a JVM in one request: Spark's metrics library provides the gauges as JSON."""

    def __init__(self, context: "SparkContext") -> None:
        assert context._jvm is not None
        java, metrics = context._jvm.java, context._jvm.com.codahale.metrics
        seconds = java.util.concurrent.TimeUnit.SECONDS
        self._registry = metrics.MetricRegistry()
        self._registry.registerAll("memory", metrics.jvm.MemoryUsageGaugeSet())
        self._registry.registerAll("collections", metrics.jvm.GarbageCollectorMetricSet())
        self._registry.registerAll("classes", metrics.jvm.ClassLoadingGaugeSet())
        self._registry.registerAll("process", metrics.jvm.JvmAttributeGaugeSet())
        server = java.lang.management.ManagementFactory.getPlatformMBeanServer()
        self._registry.registerAll("buffers", metrics.jvm.BufferPoolMetricSet(server))
        threads = metrics.jvm.CachedThreadStatesGaugeSet(1, seconds).getMetrics()
        for name in _THREADS:
            self._registry.register(f"threads.{name}", threads.get(name))
        mapper = context._jvm.com.fasterxml.jackson.databind.ObjectMapper()
        self._writer = mapper.registerModule(metrics.json.MetricsModule(seconds, seconds, False))
        properties = {"runtime": "java.runtime.name", "vendor": "java.vm.vendor", "version": "java.runtime.version"}
        self._about = {label: str(java.lang.System.getProperty(name)) for label, name in properties.items()}

    def read(self) -> tuple[int, list[Figure]]:
        """Return the JVM's process ID and its current metrics. Raise ConnectionError if it does not respond."""
        try:
            found = json.loads(self._writer.writeValueAsString(self._registry))["gauges"]
        except Exception as error:
            raise ConnectionError(spark_says(error)) from error
        gauges = {name: gauge["value"] for name, gauge in found.items() if "value" in gauge}
        pid = str(gauges["process.name"]).partition("@")[0]
        return int(pid), [*figures_of(gauges), ("jvm_info", "", self._about, 1)]


def figures_of(gauges: Mapping[str, Any]) -> Iterator[Figure]:
    """Yield SeaTunnel's metrics, computed from the gauges of Spark's library."""
    for name, value in gauges.items():
        match name.split("."):
            case ["memory", "heap" | "non-heap" as area, "used" | "committed" | "max" | "init" as what]:
                yield f"jvm_memory_bytes_{what}", "", {"area": area.replace("-", "")}, value
            case ["memory", "pools", pool, "used" | "committed" | "max" | "init" as what]:
                yield f"jvm_memory_pool_bytes_{what}", "", {"pool": _spaced(pool)}, value
            case ["memory", "pools", pool, "used-after-gc"]:
                yield "jvm_memory_pool_collection_used_bytes", "", {"pool": _spaced(pool)}, value
            case ["collections", collector, "count"]:
                yield "jvm_gc_collection_seconds", "_count", {"gc": _spaced(collector)}, value
            case ["collections", collector, "time"]:
                yield "jvm_gc_collection_seconds", "_sum", {"gc": _spaced(collector)}, value / 1000
            case ["buffers", pool, "used" | "capacity" as what]:
                yield f"jvm_buffer_pool_{what}_bytes", "", {"pool": pool}, value
            case ["buffers", pool, "count"]:
                yield "jvm_buffer_pool_used_buffers", "", {"pool": pool}, value
            case ["classes", "loaded" | "unloaded" as what]:
                yield f"jvm_classes_{what}", "_total", {}, value
            case ["threads", *what]:
                yield _of_threads(what[0], value)
    yield "jvm_classes_currently_loaded", "", {}, gauges["classes.loaded"] - gauges["classes.unloaded"]


def _of_threads(what: str, value: float) -> Figure:
    if what in _STATES:
        return "jvm_threads_state", "", {"state": what.upper()}, value
    name, suffix = {"count": ("current", ""), "total_started": ("started", "_total")}.get(what, (what, ""))
    return f"jvm_threads_{name}", suffix, {}, value


def _spaced(name: str) -> str:
    """Restore the spaces in the name of a memory pool or garbage collector, which the library replaces with hyphens."""
    return name.replace("-", " ").replace("non ", "non-")
