"""What SeaTunnel 2.3.8 answered to a list of requests, and what a node of ours answers to the same."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.nodes import Node, some_nodes, until

GOLDEN = json.loads(Path(__file__).with_name("golden-v1.json").read_text("utf-8"))

THEIR_BATCH = "1177769942485827585"
"""The id that SeaTunnel made for the first job."""

STATUS = {
    "GET job-info/": "SeaTunnel: 500, since no number stands there; here there is no such path: 404",
    "GET job-info/abc": "SeaTunnel: 500; ids may be names here, and nobody knows this one: 200",
    "GET nothing": "SeaTunnel: 400 with an empty body; 404, and why, in the shape of every failure",
    "POST submit-job {}": "SeaTunnel: 500 with a NullPointerException; 400, and what the job lacks",
    "POST submit-job unknown plugin": "SeaTunnel: 500; the job is taken here and FAILED: its host loads plugins, "
    "and not the node. POST /check tells it before",
    "POST submit-job?jobId=abc jobId not a number": "SeaTunnel: 400; ids may be names here: 200",
    "POST stop-jobs": "SeaTunnel: 500 for small numbers, behind the first of which it stops; 200",
}
"""Requests whose status is another one, and why."""

FIELDS = {
    "jobDag: a text": "of a job that has ended; the same block as of one that runs, as SeaTunnel has it since 2.3.9",
    "jobDag.edges": "2.3.8 has edges by name; pipelineEdges by number, as SeaTunnel has it since 2.3.9",
    "jobDag.vertices": "2.3.8; vertexInfoMap, as SeaTunnel has it since 2.3.9",
    "minor.gc.time": "Python does not measure it",
    "major.gc.time": "Python does not measure it",
    **dict.fromkeys(
        (
            "event.q.size", "executor.q.async.size", "executor.q.client.size", "executor.q.client.query.size",
            "executor.q.client.blocking.size", "executor.q.query.size", "executor.q.scheduled.size",
            "executor.q.io.size", "executor.q.system.size", "executor.q.operations.size",
            "executor.q.priorityOperation.size", "operations.completed.count", "executor.q.mapLoad.size",
            "executor.q.mapLoadAllKeys.size", "executor.q.cluster.size", "executor.q.response.size",
            "operations.running.count", "operations.pending.invocations.percentage",
            "operations.pending.invocations.count", "proxy.count", "clientEndpoint.count", "connection.active.count",
            "client.connection.count", "connection.count",
        ),
        "a queue or a connection of Hazelcast, which is not here",
    ),
}  # fmt: skip
"""Fields that are missing, or of another type, and why. Those that are here besides are no difference."""


def differences(theirs: Any, ours: Any, place: str = "") -> Iterator[str]:
    """Yield the fields of a value that another one lacks, or has as another type."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key, value in theirs.items():
            below = f"{place}.{key}" if place else key
            if key in ours:
                yield from differences(value, ours[key], below)
            else:
                yield below
    elif isinstance(theirs, list) and isinstance(ours, list):
        if theirs and ours:
            yield from differences(theirs[0], _same(theirs[0], ours), place)
    elif theirs is not None and type(theirs) is not type(ours):
        yield f"{place}: a text" if isinstance(theirs, str) else f"{place}: {type(theirs).__name__}"


def _same(theirs: Any, ours: list[Any]) -> Any:
    """Return the entry of a list that is about the same job, or the first one."""
    job_id = theirs.get("jobId") if isinstance(theirs, dict) else None
    return next((each for each in ours if isinstance(each, dict) and each.get("jobId") == job_id), ours[0])


def named(entry: dict[str, Any]) -> str:
    """Return how the lists above name a request."""
    path = entry["path"].removeprefix("/hazelcast/rest/maps/")
    told = entry["note"] if entry["note"] in ("{}", "unknown plugin", "jobId not a number") else ""
    return f"{entry['method']} {path} {told}".strip()


@pytest.mark.spark
@pytest.mark.torture
@pytest.mark.timeout(400)
def test_what_seatunnel_answered_is_answered_here(tmp_path: Path) -> None:
    """Fields and their types, in every answer, for the same jobs; what differs is listed above with its reason."""
    statuses: dict[str, tuple[int, int]] = {}
    fields: dict[str, str] = {}
    with some_nodes(tmp_path) as (node,):
        (tmp_path / "config/hazelcast.yaml").write_text("hazelcast: {network: {rest-api: {enabled: true}}}")
        node.start()
        node.wait_ready()
        batch = ""
        for entry in GOLDEN:
            wait_for(node, entry["note"], batch)
            path = entry["path"].replace(THEIR_BATCH, batch or THEIR_BATCH)
            status, answer = node.ask(entry["method"], path, entry["body"])
            if status != entry["status"]:
                statuses[named(entry)] = entry["status"], status
            elif entry["text"]:
                theirs = json.loads(entry["text"].replace(THEIR_BATCH, batch or THEIR_BATCH))
                fields |= dict.fromkeys(differences(theirs, answer), named(entry))
            if status >= 400:
                assert set(answer) == {"status", "message", "code"}
            if entry["note"] == "batch, jobName":
                batch = answer["jobId"]
    assert statuses.keys() == STATUS.keys(), statuses
    assert fields.keys() == FIELDS.keys(), {key: fields[key] for key in fields.keys() - FIELDS.keys()}


def wait_for(node: Node, note: str, batch: str) -> None:
    """Wait until the jobs are where those of SeaTunnel were when it was asked."""
    if note in ("stream running", "restored"):
        until("rows are written", lambda: node.committed("4711") > 0 and node.job("4711")["jobStatus"] == "RUNNING")
    if note == "stream running":
        node.wait_end(batch)
    if note in ("after savepoint", "cancelled"):
        node.wait_end("4711")
