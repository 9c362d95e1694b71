"""The pages of metrics of a node: SeaTunnel's names and ours, in both formats, from the cluster and from its hosts."""

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_families
from prometheus_client.parser import text_string_to_metric_families as families

from seatunnel_core.reporting.metrics import JobMetrics, PipelineMetrics
from seatunnel_core.reporting.open_metrics import FAMILIES, Sample, samples
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.host.protocol import HostedJob, HostStatus
from seatunnel_core.server.member_report import HostReport, MemberReport
from seatunnel_core.server.metrics.figures import ALL_FAMILIES, Figures, page
from seatunnel_core.server.rest.access import AuthPolicy
from seatunnel_core.server.state.records import JobState
from tests.server.rest.test_access import HERE, status_of
from tests.server.test_rest import JOB, ask, config_of, leading

NAME = 'a "job"\n<b>\\'
"""Of a job, with whatever a page has to escape."""


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    """Give an agent that leads, with a job in a host and one that waits."""
    found = leading(tmp_path, evolve(config_of(tmp_path), serves_metrics=True, serves_v1=True))
    ask(found, "POST", "/submit-job?jobId=8", JOB)
    job = HostedJob(job_id="7", attempt=1, name=NAME, state=JobState.RUNNING, metrics={"SourceReceivedCount": 5.0})
    status = HostStatus(pid=1, term=1, ready=True, slots=2, jobs=(job,))
    found.report = lambda: MemberReport(hosts=(HostReport(name="", boot="b", status=status),))  # type: ignore[method-assign]
    asked: list[Any] = []

    async def ask_hosts(request: Any) -> list[Any]:
        asked.append(request)
        pipeline = PipelineMetrics(id=1, name=NAME, phase="running")
        measured = JobMetrics(job_id="7", name=NAME, started_at=1.0, state="running", pipelines=(pipeline,))
        java = Sample("jvm_memory_bytes_used", "", {"address": "a", "host": "shared", "area": "heap"}, 9)
        told = [json.loads(json.dumps(each.record())) for each in (java, *samples(measured))]
        processes = {"host": os.getpid(), "java": 0}  # of the second one nothing can be told
        return [{"host": "", "processes": processes, "samples": told}, {"older": 1}]

    found.ask_hosts = ask_hosts  # type: ignore[method-assign]
    found.asked = asked  # type: ignore[attr-defined]
    return found


def shown(agent: Agent, path: str) -> str:
    status, _, body = status_of(agent, path, client=HERE, policy=AuthPolicy())
    assert status == 200, body
    return body.decode()


def test_both_formats_have_what_seatunnel_calls_its_metrics(agent: Agent) -> None:
    classic = {each.name: each for each in families(shown(agent, "/metrics"))}
    newer = {each.name: each for each in open_families(shown(agent, "/openmetrics"))}
    for found in (classic, newer):
        (info,) = found["cluster_info"].samples
        assert info.labels == {"cluster": "seatunnel", "master": agent.leader()}
        counts = {each.labels["type"]: each.value for each in found["job_count"].samples}
        assert counts["created"] == 1
        assert {"canceled", "cancelling", "created", "failed", "failing", "finished", "running", "scheduled"} <= set(
            counts
        )
        assert found["node_count"].samples[0].value == 1
        assert found["node_state"].samples[0].labels["address"] == agent.address
        started = {each.labels["process"]: each for each in found["process_start_time_seconds"].samples}
        assert set(started) == {"agent", "host"}
        assert started["host"].value > 1e9
        assert started["host"].labels | {"host": "shared", "cluster": "seatunnel"} == started["host"].labels
        (used,) = found["jvm_memory_bytes_used"].samples
        assert (used.value, used.labels["cluster"], used.labels["area"]) == (9, "seatunnel", "heap")
        rows = [each for each in found["seatunnel_job_rows"].samples if each.labels["step"] == "read"]
        assert [(each.name, each.value, each.labels["job_name"]) for each in rows] == [
            ("seatunnel_job_rows_total", 5.0, NAME)
        ]
        (state,) = found["seatunnel_pipeline_state"].samples
        assert (state.labels["pipeline_name"], state.labels["cluster"]) == (NAME, "seatunnel")


def test_every_family_is_named_even_without_samples(agent: Agent) -> None:
    text = shown(agent, "/openmetrics")
    for family in ALL_FAMILIES:
        assert f"# TYPE {family.name} {family.kind}\n" in text
    assert len({family.name for family in ALL_FAMILIES}) == len(ALL_FAMILIES)
    assert set(FAMILIES) < set(ALL_FAMILIES)


def test_hosts_are_asked_once_however_often_one_looks(agent: Agent) -> None:
    for _ in range(5):
        shown(agent, "/metrics")
    assert len(agent.asked) == 1  # type: ignore[attr-defined]
    agent.figures._found_at = time.monotonic() - 2
    shown(agent, "/metrics")
    assert len(agent.asked) == 2  # type: ignore[attr-defined]


def test_metrics_are_served_where_they_are_switched_on(agent: Agent, tmp_path: Path) -> None:
    v1 = status_of(agent, "/hazelcast/rest/instance/metrics", client=HERE, signed=True, policy=AuthPolicy())
    assert (v1[0], v1[1]["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    newer = status_of(agent, "/hazelcast/rest/instance/openmetrics", client=HERE, signed=True, policy=AuthPolicy())
    assert newer[2].endswith(b"# EOF\n")
    off = leading(tmp_path / "off", config_of(tmp_path))
    status, answer, _ = ask(off, "GET", "/metrics")
    assert (status, "telemetry.metric.enabled" in answer["message"]) == (404, True)
    (tmp_path / "seatunnel.yaml").write_text("seatunnel: {engine: {telemetry: {metric: {enabled: true}}}}")
    assert config_of(tmp_path).serves_metrics


def test_a_node_that_leads_nothing_shows_what_it_knows(agent: Agent) -> None:
    agent.leadership.state = None
    found = asyncio.run(Figures(agent).samples())
    assert "job_count" not in {each.family for each in found}
    assert b"seatunnel_hosts" in page(found, "seatunnel", open_metrics=False)
