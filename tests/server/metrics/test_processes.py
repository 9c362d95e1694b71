"""Processes of a node, as the system tells of them."""

import os
import subprocess

from seatunnel_core.server.metrics.figures import OF_PROCESSES, Process, samples_of


def test_a_process_has_all_families_with_whose_it_is() -> None:
    own = Process(kind="host", host="shared", pid=os.getpid())
    found = {(each.family, each.suffix): each for each in samples_of(own, {"address": "a:1"})}
    suffixes = {"counter": "_total", "gauge": ""}
    assert set(found) == {(family.name, suffixes[family.kind]) for family in OF_PROCESSES}
    memory = found["process_resident_memory_bytes", ""]
    assert memory.labels == {"address": "a:1", "process": "host", "host": "shared"}
    assert memory.value > 1_000_000
    for family in OF_PROCESSES:
        assert set(family.labels) == set(memory.labels)


def test_of_a_process_that_is_gone_nothing_is_told() -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert list(samples_of(Process(kind="java", host="shared", pid=gone.pid), {})) == []
