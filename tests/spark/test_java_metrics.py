"""The figures of a real JVM, by SeaTunnel's names."""

import os

from seatunnel_core.server.metrics.java import OF_JAVA
from seatunnel_core.spark.backend import SparkBackend
from seatunnel_core.spark.java_metrics import JavaMetrics, figures_of

SUFFIXES = {"counter": {"_total"}, "summary": {"_sum", "_count"}, "gauge": {""}}


def test_a_jvm_tells_of_itself_all_that_is_declared(backend: SparkBackend) -> None:
    figures = JavaMetrics(backend.context)
    pid, found = figures.read()
    assert os.readlink(f"/proc/{pid}/exe").endswith("/java")
    families = {family.name: family for family in OF_JAVA}
    for name, suffix, labels, value in found:
        family = families[name]
        assert suffix in SUFFIXES[family.kind]
        assert {"address", "host", *labels} == set(family.labels)
        assert isinstance(value, int | float)
    assert {name for name, *_ in found} == set(families)
    values = {(name, suffix, *labels.values()): value for name, suffix, labels, value in found}
    assert 1e6 < values["jvm_memory_bytes_used", "", "heap"] < values["jvm_memory_bytes_max", "", "heap"]
    assert 0 < values["jvm_threads_daemon", ""] < values["jvm_threads_current", ""] <= values["jvm_threads_peak", ""]
    assert values["jvm_threads_started", "_total"] >= values["jvm_threads_peak", ""]
    assert values["jvm_threads_state", "", "RUNNABLE"] > 0
    assert len({(name, suffix, *labels.values()) for name, suffix, labels, _ in found}) == len(found)


def test_pools_and_collectors_have_the_names_that_java_gives_them() -> None:
    gauges = {
        "memory.pools.CodeHeap-'non-profiled-nmethods'.used": 1,
        "memory.pools.Compressed-Class-Space.max": 2,
        "collections.G1-Young-Generation.time": 1500,
        "classes.loaded": 7,
        "classes.unloaded": 3,
        "memory.heap.usage": 0.5,
    }
    assert list(figures_of(gauges)) == [
        ("jvm_memory_pool_bytes_used", "", {"pool": "CodeHeap 'non-profiled nmethods'"}, 1),
        ("jvm_memory_pool_bytes_max", "", {"pool": "Compressed Class Space"}, 2),
        ("jvm_gc_collection_seconds", "_sum", {"gc": "G1 Young Generation"}, 1.5),
        ("jvm_classes_loaded", "_total", {}, 7),
        ("jvm_classes_unloaded", "_total", {}, 3),
        ("jvm_classes_currently_loaded", "", {}, 4),
    ]
