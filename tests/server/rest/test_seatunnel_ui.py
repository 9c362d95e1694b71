"""The calls of SeaTunnel's own web page, by which it shows a cluster: each is answered with what its views read.

They stand in ``service`` of its ``seatunnel-engine-ui``, and the fields in ``types.ts`` beside each of them. The page
itself is no package of a registry, and is not built here. A field that may be absent there is not listed.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.server.nodes import some_nodes
from tests.server.test_single_node import ROWS, slow_job

pytestmark = [pytest.mark.spark, pytest.mark.torture, pytest.mark.timeout(400)]

MISSING_TIMES = {"minor.gc.time", "major.gc.time"}
"""What Python does not measure; the page shows nothing there."""

JOB = {"jobId": str, "jobName": str, "jobStatus": str, "createTime": str}
MONITOR = dict.fromkeys(
    (
        "isMaster", "processors", "host", "port", "physical.memory.total", "physical.memory.free", "heap.memory.used",
        "heap.memory.free", "heap.memory.total", "heap.memory.max", "heap.memory.used/total", "heap.memory.used/max",
        "load.process", "load.system", "load.systemAverage", "thread.count", "thread.peakCount", "cluster.timeDiff",
    ),
    str,
)  # fmt: skip
WORKER = {"address": str, "totalSlots": int, "freeSlots": int, "dynamicSlot": bool, "runningJobIds": list}


def assert_read(found: Any, fields: Mapping[str, type]) -> None:
    """Check that a view finds each field that it reads, as the type that it takes it for."""
    assert {key: type(found.get(key)) for key in fields} == fields


def test_the_calls_of_its_page_are_answered(tmp_path: Path) -> None:
    with some_nodes(tmp_path / "node") as (node,):
        node.start()
        node.wait_ready()
        node.submit(slow_job(tmp_path / "ended", rows_per_second=1_000), "ended")
        node.wait_end("ended")
        node.submit(slow_job(tmp_path / "runs", rows_per_second=1), "runs")
        node.wait_rows("runs")

        def asked(target: str) -> Any:
            status, answer = node.ask("GET", target)
            assert status == 200, (target, answer)
            return answer

        numbers = ("projectVersion", "gitCommitAbbrev", "totalSlot", "unassignedSlot", "workers")
        jobs = ("runningJobs", "finishedJobs", "failedJobs", "cancelledJobs")
        assert_read(asked("/overview"), dict.fromkeys((*numbers, *jobs), str))
        running, ended = asked("/running-jobs/summary?page=1&rows=10"), asked("/finished-jobs/finished?page=1&rows=10")
        assert [(each["total"], [job["jobId"] for job in each["data"]]) for each in (running, ended)] == [
            (1, ["runs"]),
            (1, ["ended"]),
        ]
        assert_read(running["data"][0], JOB)
        assert_read(ended["data"][0], {**JOB, "finishTime": str})
        for target in ("/job-info/ended", "/job-info/runs", "/running-job/runs"):
            assert_detail(asked(target))
        (monitor,) = asked("/system-monitoring-information")
        assert_read(monitor, MONITOR)
        workers = asked("/resource/workers")
        assert_read(workers, {"available": bool, "collectedAt": int, "workers": list})
        assert_read(workers["workers"][0], WORKER)
        stored = asked("/jobs/checkpoints/runs")
        assert_read(stored["pipelines"][0], {"pipelineId": int, "counts": dict, "latestCompleted": dict})
        assert {"triggered", "completed", "failed", "inProgress", "restored"} <= stored["pipelines"][0]["counts"].keys()
        logs = asked("/logs/runs?format=json")
        assert_read(logs[0], {"node": str, "logLink": str, "logName": str})
        assert asked("/logs?format=json")
        assert asked("/option-rules?type=source&plugin=LocalFile")


def assert_detail(job: dict[str, Any]) -> None:
    """Check what the view of a job reads: the graph, and the figures of each table that a vertex names."""
    assert_read(job, {**JOB, "jobDag": dict, "metrics": dict})
    figures = ("Count", "Bytes", "QPS", "BytesPerSeconds")
    kinds = {"source": "SourceReceived", "sink": "SinkWrite"}
    for vertex in job["jobDag"]["vertexInfoMap"]:
        assert_read(vertex, {"vertexId": int, "type": str, "vertexName": str, "tablePaths": list})
        if vertex["type"] in kinds:
            (table,) = vertex["tablePaths"]
            names = [f"Table{kinds[vertex['type']]}{figure}" for figure in figures]
            assert all(float(job["metrics"][name][table]) >= 0 for name in names)
    if job["jobStatus"] == "FINISHED":
        for name in ("TableSourceReceivedCount", "TableSinkWriteCount"):
            assert [int(count) for count in job["metrics"][name].values()] == [ROWS], name
