"""How jobs are listed: whole or by pages, whatever their number, while others are answered."""

import asyncio
import json
import statistics
import time
from pathlib import Path
from typing import Any

from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.description import Description, describe, shown_at_end
from seatunnel_core.server.host.protocol import HostedJob
from seatunnel_core.server.rest.application import V1_ROUTES, application
from seatunnel_core.server.rest.listing import SLICE_S
from seatunnel_core.server.state.records import EndedJob, JobState
from seatunnel_core.server.submitted_job import SubmittedJob
from tests.server.test_rest import JOB, ask, config_of, leading

V1 = "/hazelcast/rest/maps"

MANY = 10_000
"""As many ended jobs as the history holds."""


DESCRIBED = describe(SubmittedJob(JOB, "json"))


def hosted(number: int) -> HostedJob:
    return HostedJob(
        job_id=str(number),
        attempt=1,
        state=JobState.FINISHED,
        pipelines=({"id": 1, "name": "f -> Console", "rows": number},),
        failures=({"pipeline": 1, "at": 1.7e9, "message": "it broke", "code": "ROW-ERROR"},),
        series={"columns": ["timestamp"], "points": [[1_700_000_000_000]], "pipelines": []},
    )


def an_end(number: int, state: JobState = JobState.FINISHED) -> EndedJob:
    return EndedJob(
        job_id=str(number),
        name=f"job {number}",
        state=state,
        error="it broke" if state is JobState.FAILED else "",
        attempts=1,
        submitted_at=1.7e9 + number,
        ended_at=1.7e9 + number + 5,
        env={"job.name": f"job {number}", "job.mode": "BATCH"},
        metrics={"SourceReceivedCount": number, "SinkWriteCount": number, "SinkCommittedCount": number},
        host="127.0.0.1:5801",
        shown=shown_at_end(DESCRIBED, hosted(number)),
    )


def with_history(folder: Path, count: int) -> Agent:
    agent = leading(folder, config_of(folder))
    assert agent.state is not None
    states = (JobState.FINISHED, JobState.FAILED, JobState.CANCELED, JobState.SAVEPOINT_DONE)
    ended = (an_end(number, states[number % 4]) for number in range(count))
    agent.state._history.update({each.job_id: each for each in ended})
    return agent


def test_an_ended_job_is_shown_with_its_graph_and_its_pipelines(tmp_path: Path) -> None:
    agent = with_history(tmp_path, 2)
    status, job, _ = ask(agent, "GET", "/job-info/1")
    assert (status, job["jobStatus"], job["errorMsg"], job["finishTime"]) == (
        200,
        "FAILED",
        "it broke",
        job["finishedTime"],
    )
    assert job["jobDag"]["pipelineEdges"] == {"1": [{"inputVertexId": 1, "targetVertexId": 2}]}
    assert [each["vertexName"] for each in job["jobDag"]["vertexInfoMap"]] == [
        "Source[0]-FakeSource",
        "Sink[0]-Console",
    ]
    assert job["pipelines"] == [{"id": 1, "name": "f -> Console", "rows": 1}]
    assert (job["metrics"]["SinkCommittedCount"], job["host"]) == ("1", "127.0.0.1:5801")
    assert "pipelines" not in ask(agent, "GET", "/finished-jobs")[1][0]


def test_an_ended_job_of_an_earlier_version_is_shown_without_its_graph(tmp_path: Path) -> None:
    agent = leading(tmp_path, config_of(tmp_path))
    block = json.loads(an_end(1).to_bytes())
    for key in ("restored", "host", "shown"):
        del block[key]
    assert agent.state is not None
    agent.state._history["1"] = EndedJob.from_bytes(json.dumps(block).encode())
    job = ask(agent, "GET", "/job-info/1")[1]
    assert (job["jobDag"]["pipelineEdges"], job["pipelines"], job["host"]) == ({}, [], "")


def test_each_connected_part_of_a_job_is_a_pipeline() -> None:
    job = """
source { FakeSource { plugin_output = a }, FakeSource { plugin_output = b } }
transform { Copy { plugin_input = b, plugin_output = c, fields { x = y } } }
sink { Console { plugin_input = a, name = out }, Console { plugin_input = c } }
"""
    described = describe(SubmittedJob(job, "hocon"))
    assert described.edges == {
        "1": [{"inputVertexId": 1, "targetVertexId": 4}],
        "2": [{"inputVertexId": 2, "targetVertexId": 3}, {"inputVertexId": 3, "targetVertexId": 5}],
    }
    assert [each["name"] for each in described.vertices] == ["a", "b", "c", "out", "Console-sink-c"]
    circle = job.replace("plugin_input = b,", "plugin_input = c,")
    assert describe(SubmittedJob(circle, "hocon")).edges == {}
    assert describe(SubmittedJob("{", "json")) == Description()


def test_finished_jobs_come_in_pages(tmp_path: Path) -> None:
    agent = with_history(tmp_path, 45)
    listed = ask(agent, "GET", "/finished-jobs")[1]
    assert [job["jobId"] for job in listed] == [str(number) for number in range(45)]
    page = ask(agent, "GET", "/finished-jobs?page=2&rows=20")[1]
    assert ([job["jobId"] for job in page["data"]], page["total"]) == ([str(number) for number in range(20, 40)], 45)
    assert page["data"] == listed[20:40]
    last = ask(agent, "GET", "/finished-jobs/?page=5")[1]
    assert [job["jobId"] for job in last["data"]] == ["40", "41", "42", "43", "44"]
    newest = ask(agent, "GET", "/finished-jobs?page=1&rows=2&newestFirst=true")[1]
    assert [job["jobId"] for job in newest["data"]] == ["44", "43"]
    failed = ask(agent, "GET", "/finished-jobs/failed?page=1&rows=3")[1]
    assert ([job["jobId"] for job in failed["data"]], failed["total"]) == (["1", "5", "9"], 11)
    for query in ("page=6", "page=0", "page=x", "page=-1", "page=1&rows=0", "page=1&rows=10001"):
        status, answer, _ = ask(agent, "GET", f"/finished-jobs?{query}")
        assert (status, answer["status"], answer["code"]) == (400, "fail", "bad_request"), query
    assert ask(agent, "GET", "/finished-jobs/nonsense?page=1")[1] == {"data": [], "total": 0}
    assert ask(agent, "GET", "/overview")[1]["failedJobs"] == "11"


def test_running_jobs_come_in_pages_and_as_a_summary(tmp_path: Path) -> None:
    agent = leading(tmp_path, config_of(tmp_path))
    for number in range(3):
        assert ask(agent, "POST", f"/submit-job?jobId={number}", JOB)[0] == 200
    page = ask(agent, "GET", "/running-jobs?page=2&rows=2")[1]
    assert ([job["jobId"] for job in page["data"]], page["total"]) == (["2"], 3)
    assert page["data"][0]["jobDag"]["vertexInfoMap"]
    summary = ask(agent, "GET", "/running-jobs/summary")[1]
    assert [job["jobId"] for job in summary] == ["0", "1", "2"]
    assert "jobDag" not in summary[0]


def test_a_job_that_waits_is_listed_with_the_slots_that_it_wants(tmp_path: Path) -> None:
    agent = leading(tmp_path, config_of(tmp_path))
    for number in range(3):
        ask(agent, "POST", f"/submit-job?jobId={number}", JOB)
    agent.dispatcher.reasons = {"1": "no node has the tags {'zone': 'a'}"}
    found = ask(agent, "GET", "/pending-jobs")[1]
    assert found["queueSummary"] | {"oldestEnqueueTimestamp": 0, "newestEnqueueTimestamp": 0} == {
        "size": 3, "scheduleStrategy": "REJECT", "lackingTaskGroups": 6, "oldestEnqueueTimestamp": 0,
        "newestEnqueueTimestamp": 0,
    }  # fmt: skip
    (one,) = ask(agent, "GET", "/pending-jobs?jobId=1&limit=5")[1]["pendingJobs"]
    assert one["failureMessage"] == "no node has the tags {'zone': 'a'}"
    assert [each["jobId"] for each in ask(agent, "GET", "/pending-jobs?limit=2")[1]["pendingJobs"]] == ["0", "1"]
    pretty = ask(agent, "GET", "/pending-jobs?jobId=1&pretty=true")[1]["pendingJobs"][0]
    assert pretty["enqueueTimestamp"][4] == "-"
    assert ask(agent, "GET", "/pending-jobs?limit=0")[0] == 400
    assert ask(agent, "GET", "/resource/workers")[1] == {"available": False, "collectedAt": None, "workers": []}


def test_version_1_answers_as_version_2_does(tmp_path: Path) -> None:
    agent = with_history(tmp_path, 3)
    for path in (
        "/finished-jobs/",
        "/finished-jobs/FAILED",
        "/overview",
        "/job-info/2",
        "/running-jobs",
        "/job-info/x",
    ):
        assert ask(agent, "GET", V1 + path)[:2] == ask(agent, "GET", path)[:2]
    assert ask(agent, "GET", "/hazelcast/rest/cluster")[1]["members"][0]["address"] == "[127.0.0.1]:1"
    assert any(route.path == "/hazelcast/rest/maps/submit-job" and route.to_leader for route in V1_ROUTES)


def test_a_page_of_10_000_ended_jobs_is_not_made_of_all_of_them(tmp_path: Path) -> None:
    """All were sorted, and all became JSON, for each request."""
    agent = with_history(tmp_path, MANY)
    assert agent.state is not None
    agent.state.history()
    taken = []
    for number in range(20):
        begun = time.process_time()
        status, page, _ = ask(agent, "GET", f"/finished-jobs?page={number + 1}&rows=10")
        taken.append(time.process_time() - begun)
        assert (status, len(page["data"]), page["total"]) == (200, 10, MANY)
    assert statistics.median(taken) < 0.05, (
        "it takes a few milliseconds, most of them to make an application for the test"
    )


def test_a_reader_of_10_000_ended_jobs_lets_others_be_answered(tmp_path: Path) -> None:
    """The leader's beats wait for whatever holds its event loop."""
    agent = with_history(tmp_path, MANY)
    app = application(agent, signed=False)

    async def read() -> int:
        sent: list[dict[str, Any]] = []

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        await app(
            {
                "type": "http", "method": "GET", "path": "/finished-jobs", "query_string": b"", "root_path": "",
                "scheme": "http", "server": ("node", 80), "headers": [(b"host", b"127.0.0.1:1")],
            },
            receive,
            send,
        )  # fmt: skip
        return len(json.loads(b"".join(message.get("body", b"") for message in sent[1:])))

    async def play() -> tuple[list[int], list[float]]:
        gaps: list[float] = []
        readers = asyncio.gather(*(read() for _ in range(3)))
        last = time.thread_time()
        while not readers.done():
            await asyncio.sleep(0)
            now = time.thread_time()
            gaps.append(now - last)
            last = now
        return await readers, gaps

    counts, gaps = asyncio.run(play())
    assert counts == [MANY] * 3
    assert len(gaps) > 100, "it was written in slices"
    assert statistics.median(gaps) < 5 * SLICE_S
