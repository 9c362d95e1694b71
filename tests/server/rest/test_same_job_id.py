"""Two jobs under one id: the same one is accepted again, and another one is refused, however it is submitted."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.rest.submitting import accept
from seatunnel_core.server.state.cluster_state import ClusterState
from seatunnel_core.server.state.records import EndedJob, JobState
from tests.server.rest.test_submitting import HOCON, upload, upload_with
from tests.server.state.stores import local_store
from tests.server.test_rest import JOB, ask, config_of, leading

OTHER = JOB.replace("copy", "another")
SUBMIT = "/submit-job?jobId=7"


def submits(agent: Agent, job: str) -> list[tuple[int, Any]]:
    """Return the answers to a job that is submitted in each way of REST."""
    batch = json.dumps([{"params": {"jobId": "7"}, **json.loads(job)}])
    internal = {"job_id": "7", "name": "", "text": job, "format": "json", "variables": {}, "restore": False}
    return [
        ask(agent, "POST", SUBMIT, job)[:2],
        ask(agent, "POST", "/hazelcast/rest/maps" + SUBMIT, job)[:2],
        ask(agent, "POST", f"{SUBMIT}&isStartWithSavePoint=true", job)[:2],
        upload(agent, "a.json", job, query="?jobId=7"),
        ask(agent, "POST", "/submit-jobs", batch)[:2],
        ask(agent, "POST", "/internal/v1/submit", json.dumps(internal), signed=True)[:2],
    ]


def test_another_job_under_an_active_id_is_refused_however_it_is_submitted(tmp_path: Path) -> None:
    """It was answered with 200 and its own name, and never ran."""
    agent = leading(tmp_path, config_of(tmp_path))
    assert ask(agent, "POST", SUBMIT, JOB)[0] == 200
    for status, answer in submits(agent, OTHER):
        assert (status, answer["code"]) == (409, "job_id_in_use"), answer
        assert "the job id 7 is in use: the job 'copy' is PENDING, and its text differs" in answer["message"]
    assert [each["jobName"] for each in ask(agent, "GET", "/running-jobs")[1]] == ["copy"]


def test_the_same_job_is_accepted_again_under_its_own_name(tmp_path: Path) -> None:
    agent = leading(tmp_path, config_of(tmp_path))
    assert ask(agent, "POST", f"{SUBMIT}&jobName=nightly", JOB)[0] == 200
    for status, answer in submits(agent, JOB):
        assert status == 200, answer
        assert (answer if isinstance(answer, dict) else answer[0]) == {"jobId": "7", "jobName": "nightly"}


@pytest.mark.parametrize("wanted", [{}, {"isStopWithSavePoint": True}, {"force": True}])
def test_a_job_that_is_being_stopped_is_not_accepted_again(tmp_path: Path, wanted: dict[str, bool]) -> None:
    """It was answered with 200, ended as cancelled, and was not started again."""
    agent = leading(tmp_path, config_of(tmp_path))
    ask(agent, "POST", SUBMIT, JOB)
    assert ask(agent, "POST", "/stop-job", json.dumps({"jobId": "7", **wanted}))[0] == 200
    state = "DOING_SAVEPOINT" if "isStopWithSavePoint" in wanted else "CANCELING"
    assert ask(agent, "GET", "/job-info/7")[1]["jobStatus"] == state, "at once, so that clients can wait"
    for status, answer in submits(agent, JOB):
        assert (status, answer["code"]) == (503, "stopping"), answer
        assert "job 7 is being stopped" in answer["message"]
    for status, answer in submits(agent, OTHER):
        assert (status, answer["code"]) == (409, "job_id_in_use"), answer


def test_a_batch_says_which_job_is_refused_and_which_are_accepted(tmp_path: Path) -> None:
    agent = leading(tmp_path, config_of(tmp_path))
    ask(agent, "POST", SUBMIT, JOB)
    jobs = [{"params": {"jobId": job_id}, **json.loads(OTHER)} for job_id in ("6", "7", "8")]
    status, answer, _ = ask(agent, "POST", "/submit-jobs", json.dumps(jobs))
    assert status == 409
    assert "job 2 of the list was rejected; the jobs before it were accepted: 6" in answer["message"]
    assert {each["jobId"] for each in ask(agent, "GET", "/running-jobs")[1]} == {"6", "7"}


def test_other_variables_make_another_job_and_are_in_no_message(tmp_path: Path) -> None:
    agent = leading(tmp_path, config_of(tmp_path))
    job = HOCON.replace("uploaded", "day ${day}")
    assert upload_with(agent, 7, job, '{"day": "2026-01-31"}')[0] == 200
    assert upload_with(agent, 7, job, '{"day": "2026-01-31"}') == (200, {"jobId": "7", "jobName": "day 2026-01-31"})
    status, answer = upload_with(agent, 7, job, '{"day": "2026-02-01"}')
    assert (status, answer["code"]) == (409, "job_id_in_use")
    assert "its variables differ" in answer["message"]
    assert "2026-02-01" not in answer["message"]


def test_an_ended_id_is_free_for_a_restore_with_another_text_and_for_nothing_else(tmp_path: Path) -> None:
    agent = leading(tmp_path, config_of(tmp_path))
    ask(agent, "POST", SUBMIT, JOB)
    ended = EndedJob(job_id="7", name="copy", state=JobState.FAILED, attempts=1, submitted_at=1.0, ended_at=2.0)
    assert agent.state is not None
    agent.state.end(ended)
    for job in (JOB, OTHER):
        status, answer, _ = ask(agent, "POST", SUBMIT, job)
        assert (status, answer["code"]) == (500, "job_has_ended")
    assert ask(agent, "POST", f"{SUBMIT}&isStartWithSavePoint=true", OTHER)[:2] == (
        200,
        {"jobId": "7", "jobName": "another"},
    )


def test_of_clients_that_race_one_wins_and_the_others_are_told(tmp_path: Path) -> None:
    """They come by different nodes, which forward them to the leader."""
    agent = leading(tmp_path, config_of(tmp_path))

    async def race() -> list[Any]:
        texts = [JOB.replace("copy", f"job {number}") for number in range(10)]
        return await asyncio.gather(
            *(
                accept(agent, job_id="7", name="", text=text, format="json", variables={}, restore=False)
                for text in texts
            ),
            return_exceptions=True,
        )

    found = asyncio.run(race())
    won = [each for each in found if isinstance(each, dict)]
    assert len(won) == 1
    assert {getattr(each, "status", 200) for each in found if each is not won[0]} == {409}
    assert [each["jobName"] for each in ask(agent, "GET", "/running-jobs")[1]] == [won[0]["jobName"]]


def test_a_leader_that_takes_over_compares_with_what_was_stored(tmp_path: Path) -> None:
    leader = leading(tmp_path, config_of(tmp_path))
    ask(leader, "POST", SUBMIT, JOB)
    leader.leadership.state = ClusterState(local_store(tmp_path).claim(), expire_s=1e9)  # as a successor reads it
    assert ask(leader, "POST", SUBMIT, JOB)[0] == 200
    assert ask(leader, "POST", SUBMIT, OTHER)[0] == 409
