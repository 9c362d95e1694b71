"""A program that starts a job under an id that it can make again, and comes back, does what is left to do."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from seatunnel_core.control.cluster_jobs import (
    ClusterJobs,
    Following,
    JobView,
    Submission,
    Taken,
    format_of,
    stable_job_id,
)
from seatunnel_core.control.rest_client import RestAddress, RestClient
from seatunnel_core.errors import PlatformError, UsageError
from seatunnel_storage_api.layout import require_job_id
from tests.control.rest_node import Asked, RestNode, rest_node

JOB = Submission(job_id="orders-1", text="env {}")
ENDED = {"finishTime": "2026-01-31 10:00:07", "createTime": "2026-01-31 10:00:00", "metrics": {}}


def job(state: str, **more: Any) -> dict[str, Any]:
    ends = {"FINISHED", "FAILED", "CANCELED", "SAVEPOINT_DONE"}
    return {"jobId": "orders-1", "jobStatus": state, **(ENDED if state in ends else {}), **more}


UNKNOWN = {"jobId": "orders-1"}


@contextmanager
def cluster(
    *views: dict[str, Any], submitted: Callable[[Asked], tuple[int, Any]] = lambda _: (200, {"jobId": "orders-1"})
) -> Iterator[tuple[ClusterJobs, RestNode]]:
    """Give a cluster whose job stands in these ways, one after the other; the last one stays."""
    left = list(views)

    def answer(asked: Asked) -> tuple[int, Any]:
        if asked.target.startswith("/job-info/"):
            return 200, left.pop(0) if len(left) > 1 else left[0]
        return submitted(asked) if asked.target.startswith("/submit-job") else (200, {})

    with rest_node(answer) as node:
        yield ClusterJobs(RestClient(RestAddress.of(node.address)), patience_s=0.0, sleep=lambda _: None), node


def submits(node: RestNode) -> list[dict[str, list[str]]]:
    return [parse_qs(urlsplit(each.target).query) for each in node.asked if each.target.startswith("/submit-job")]


@pytest.mark.parametrize(
    ("state", "taken", "restores"),
    [
        (UNKNOWN, Taken.SUBMITTED, ["false"]),
        (job("PENDING"), Taken.FOLLOWED, ["false"]),
        (job("RUNNING"), Taken.FOLLOWED, ["false"]),
        (job("FINISHED"), Taken.FINISHED, []),
        (job("FAILED"), Taken.RESTORED, ["true"]),
        (job("CANCELED"), Taken.RESTORED, ["true"]),
        (job("SAVEPOINT_DONE"), Taken.RESTORED, ["true"]),
    ],
    ids=lambda value: value.get("jobStatus", "unknown") if isinstance(value, dict) else "",
)
def test_what_is_done_depends_on_how_the_job_stands(state: dict[str, Any], taken: Taken, restores: list[str]) -> None:
    with cluster(state) as (jobs, node):
        assert jobs.take(JOB) is taken
        assert [each["isStartWithSavePoint"][0] for each in submits(node)] == restores
        assert all(each["jobId"] == ["orders-1"] and each["format"] == ["hocon"] for each in submits(node))


def test_a_job_that_is_being_stopped_is_waited_for_and_goes_on() -> None:
    with cluster(job("CANCELING"), job("DOING_SAVEPOINT"), job("CANCELED")) as (jobs, node):
        assert jobs.take(JOB) is Taken.RESTORED
        assert len(submits(node)) == 1


def test_a_job_whose_stop_begins_between_the_question_and_the_submit_is_waited_for_and_goes_on() -> None:
    """However long that takes: a savepoint may take longer than the patience for nodes that do not respond."""
    answers = [(503, {"message": "job orders-1 is being stopped", "code": "stopping"}), (200, {"jobId": "orders-1"})]
    views = job("RUNNING"), job("DOING_SAVEPOINT"), job("DOING_SAVEPOINT"), job("SAVEPOINT_DONE")
    with cluster(*views, submitted=lambda _: answers.pop(0)) as (jobs, node):
        jobs.patience_s = 600.0
        assert jobs.take(JOB) is Taken.RESTORED
        assert [each["isStartWithSavePoint"][0] for each in submits(node)] == ["false", "true"]


def test_a_job_that_ended_between_the_question_and_the_submit_is_asked_for_again() -> None:
    """Its submit was repeated at another node, say, after the first one had taken it and died."""
    with cluster(UNKNOWN, job("FINISHED"), submitted=lambda _: (500, {"message": "already submitted"})) as (jobs, node):
        assert jobs.take(JOB) is Taken.FINISHED
        assert len(submits(node)) == 1


@pytest.mark.parametrize("state", [UNKNOWN, job("FAILED")], ids=["unknown", "failed"])
def test_a_job_that_is_refused_is_an_error_with_the_reason(state: dict[str, Any]) -> None:
    with (
        cluster(state, submitted=lambda _: (400, {"message": "job.conf:3: no sink 'Consol'"})) as (jobs, _node),
        pytest.raises(UsageError, match="no sink 'Consol'"),
    ):
        jobs.take(JOB)


def test_another_job_that_is_active_under_the_id_is_an_error() -> None:
    """It was followed to its end, and the program took its result for that of its own job, which never ran."""
    refused = 409, {"status": "fail", "message": "the job id orders-1 is in use", "code": "job_id_in_use"}
    with (
        cluster(job("RUNNING"), submitted=lambda _: refused) as (jobs, _node),
        pytest.raises(UsageError, match="orders-1 is in use"),
    ):
        jobs.take(JOB)


def test_text_and_variables_and_names_go_along_and_no_variable_into_the_address() -> None:
    with cluster(UNKNOWN) as (jobs, node):
        jobs.take(Submission(job_id="a/b c", text="ä", format="json", name="nightly & more"))
        assert node.asked[0].target == "/job-info/a%2Fb%20c"
        assert submits(node)[0] | {"jobName": ["nightly & more"], "format": ["json"]} == submits(node)[0]
        assert node.asked[1].body == "ä".encode()

        jobs.take(Submission(job_id="1", text="env { a = ${a} }", variables={"a": 'quote " and €'}))
        form = node.asked[-1]
        assert form.target == "/submit-job/upload?jobId=1&isStartWithSavePoint=false"
        assert json.dumps({"a": 'quote " and €'}).encode() in form.body
        assert b'name="config_file"; filename="job.conf"\r\n' in form.body
    assert repr(Submission(job_id="1", text="secret", variables={"a": "quote"})) == (
        "Submission(job_id='1', format='hocon', name='')"
    )


def test_nodes_without_a_leader_are_asked_again_until_the_patience_ends() -> None:
    answers = [(503, {"message": "no leader"})] * 3 + [(200, job("FINISHED"))]
    with rest_node(lambda _: answers.pop(0)) as node:
        jobs = ClusterJobs(RestClient(RestAddress.of(node.address)), patience_s=30.0, sleep=lambda _: None)
        assert jobs.take(JOB) is Taken.FINISHED
        assert len(node.asked) == 4
    with pytest.raises(PlatformError, match="cannot be reached"):
        ClusterJobs(RestClient(RestAddress.of("127.0.0.1:1")), patience_s=0.0).take(JOB)


def test_a_job_is_followed_to_its_end_through_answers_that_do_not_come() -> None:
    metrics = {"SourceReceivedCount": "10", "SinkWriteCount": "8", "SinkCommittedCount": "4.0"}
    running = job("RUNNING", metrics=metrics, pipelines=[{"checkpoint": 3}, {"checkpoint": None}])
    answers: list[Any] = [(200, running), (503, {}), (200, running), (200, job("FAILED", errorMsg="boom"))]
    with rest_node(lambda _: answers.pop(0)) as node:
        following = Following(ClusterJobs(RestClient(RestAddress.of(node.address)), patience_s=5.0), "orders-1")
        assert following.refresh().figures()["rows_committed"] == 4
        assert following.news() == "RUNNING: 10 rows read, 8 rows written, 4 rows committed"
        assert following.refresh().state == "RUNNING", "as it was heard last"
        assert following.news() == ""
        following.refresh()
        view = following.refresh()
        assert (view.has_ended, view.failure()) == (True, "the job orders-1 failed: boom")
        assert view.figures() == {
            "job_id": "orders-1",
            "state": "FAILED",
            "last_checkpoint": 3,
            "duration_s": 7,
            "created": "2026-01-31 10:00:00",
            "finished": "2026-01-31 10:00:07",
        }
        assert JobView(**json.loads(json.dumps(view.to_json()))) == view


def test_rows_are_news_once_in_a_while_and_states_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def running(rows: int) -> dict[str, Any]:
        return job("RUNNING", metrics={"SourceReceivedCount": str(rows)})

    with cluster(job("PENDING", pendingReason="no slots"), running(1), running(2), running(3)) as (jobs, _node):
        following = Following(jobs, "orders-1")
        told = []
        for moment in (0.0, 1.0, 2.0, 12.0):
            following.refresh()
            monkeypatch.setattr(time, "monotonic", lambda moment=moment: moment)
            told.append(following.news())
            monkeypatch.undo()
    assert told == ["PENDING: no slots", "RUNNING: 1 row read", "", "RUNNING: 3 rows read"]


def test_a_job_that_the_cluster_has_forgotten_is_an_error() -> None:
    with cluster(UNKNOWN) as (jobs, _node), pytest.raises(UsageError, match="its result is unknown"):
        Following(jobs, "orders-1").refresh()


def test_what_has_not_finished_is_a_failure() -> None:
    how = {state: JobView.of(job(state)).failure() for state in ("FINISHED", "CANCELED", "SAVEPOINT_DONE")}
    assert how == {
        "FINISHED": "",
        "CANCELED": "the job orders-1 was cancelled",
        "SAVEPOINT_DONE": "the job orders-1 was stopped with a savepoint",
    }


def test_ids_are_the_same_for_the_same_parts_and_may_be_ids() -> None:
    assert (
        stable_job_id("dag", "task", "2026-01-31T00:00:00+00:00")
        == "dag-task-2026-01-31T00-00-00-00-00-e4163d63e525107b"
    )
    ids = {stable_job_id(*parts) for parts in (("a", "b-c"), ("a-b", "c"), ("a", "b", "c"), ("ä",), ("x" * 500,), ())}
    assert len(ids) == 6
    assert all(require_job_id(each) for each in ids)


@pytest.mark.parametrize(
    ("name", "format"), [("a.conf", "hocon"), ("a.JSON", "json"), ("a.yml", "yaml"), ("a.sql", "sql"), ("a", "hocon")]
)
def test_the_ending_of_a_file_says_its_format(name: str, format: str) -> None:
    assert format_of(name) == format
