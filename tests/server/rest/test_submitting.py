"""Jobs that are submitted as files and by lists, and what is wanted of them."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.state.records import EndedJob, JobState
from tests.server.state.stores import local_store
from tests.server.test_rest import JOB, ask, config_of, leading

HOCON = """
env { job.name = uploaded, job.mode = BATCH }
source { FakeSource { plugin_output = f, row.num = 1, schema { fields { id = int } } } }
sink { Console { plugin_input = f } }
"""


def upload(agent: Agent, name: str, content: str, *, field: str = "config_file", query: str = "") -> tuple[int, Any]:
    form = (
        f'--B\r\nContent-Disposition: form-data; name="{field}"; filename="{name}"\r\n'
        f"Content-Type: application/octet-stream\r\n\r\n{content}\r\n--B--\r\n"
    )
    kind: Any = {"content-type": "multipart/form-data; boundary=B"}
    status, answer, _ = ask(agent, "POST", f"/submit-job/upload{query}", form, **kind)
    return status, answer


def test_a_job_is_submitted_as_a_file(tmp_path: Path) -> None:
    agent = leading(tmp_path, config_of(tmp_path))
    assert upload(agent, "a.conf", HOCON, query="?jobId=1") == (200, {"jobId": "1", "jobName": "uploaded"})
    assert upload(agent, "A.CONFIG", HOCON, query="?jobId=2&jobName=x") == (200, {"jobId": "2", "jobName": "x"})
    assert upload(agent, "a.json", JOB, query="?jobId=3")[0] == 200
    assert b'"format":"hocon"' in local_store(tmp_path).read()["job/1"]
    for name, content, field, code in (
        ("a.txt", HOCON, "config_file", "unknown_format"),
        ("noending", HOCON, "config_file", "unknown_format"),
        ("../../etc/passwd", HOCON, "config_file", "unknown_format"),
        ("a.conf", HOCON, "other", "invalid_form"),
        ("a.json", HOCON, "config_file", "config_error"),
    ):
        status, answer = upload(agent, name, content, field=field)
        assert (status, answer["code"]) == (400, code), (name, answer)
    kind: Any = {"content-type": "multipart/form-data"}
    status, answer, _ = ask(agent, "POST", "/submit-job/upload", "x", **kind)
    assert (status, answer["code"]) == (400, "invalid_form")
    assert ask(agent, "POST", "/submit-job/upload", JOB)[0] == 400


def upload_with(agent: Agent, number: int, job: str, variables: str) -> tuple[int, Any]:
    """Submit a job as a file, with values for its variables."""
    field = f'--B\r\nContent-Disposition: form-data; name="variables"\r\n\r\n{variables}\r\n'
    file = f'--B\r\nContent-Disposition: form-data; name="config_file"; filename="a.conf"\r\n\r\n{job}\r\n--B--\r\n'
    kind: Any = {"content-type": "multipart/form-data; boundary=B"}
    return ask(agent, "POST", f"/submit-job/upload?jobId={number}", field + file, **kind)[:2]


def test_an_upload_may_have_values_for_the_variables_of_its_job(tmp_path: Path) -> None:
    """In the form, as addresses are logged on their way."""
    agent = leading(tmp_path, config_of(tmp_path))
    job = HOCON.replace("uploaded", "${name}")
    found = upload_with(agent, 1, job, '{"name": "hunter2 }"}')
    assert found == (200, {"jobId": "1", "jobName": "hunter2 }"})
    for number, wrong in enumerate(('{"name": 1}', "[]", "{", '["a"]', '{"name": "\\ud800"}', '{"name": {}}'), 2):
        status, answer = upload_with(agent, number, job, wrong)
        assert (status, answer["code"]) == (400, "invalid_form"), answer
        assert '{"day": "2026-01-31"}' in answer["message"]
    assert set(local_store(tmp_path).read()) == {"job/1"}


def test_a_value_that_is_used_as_a_secret_is_refused_and_not_stored(tmp_path: Path) -> None:
    """It was kept in clear in the record of the job, for everybody who may read the storage of the cluster."""
    agent = leading(tmp_path, config_of(tmp_path))
    job = """source { Http { plugin_output = f, url = "http://h/x", headers { Authorization = "Bearer ${TOKEN}" } } }
      sink { Console { plugin_input = f } }"""
    status, answer = upload_with(agent, 1, job, '{"TOKEN": "hunter2"}')
    assert (status, answer["code"]) == (400, "config_error")
    assert "${TOKEN} is used in the secret source.Http.headers.Authorization" in answer["message"]
    assert "hunter2" not in json.dumps(answer)
    status, answer = upload_with(agent, 2, job, "{}")
    assert status == 400
    assert "${TOKEN} is not set. Set TOKEN in the environment of the nodes" in answer["message"]
    assert local_store(tmp_path).read() == {}


def test_a_job_that_was_never_claimed_may_be_restored_and_one_that_may_have_been_is_marked_otherwise(
    tmp_path: Path,
) -> None:
    """A source that was away when its job began: the next try failed, because there was nothing to go on with."""
    for begun in (False, True):
        agent = leading(tmp_path / str(begun), config_of(tmp_path))
        ended = EndedJob(
            job_id="1", name="copy", state=JobState.FAILED, attempts=1, submitted_at=1.0, ended_at=1e9, begun=begun
        )
        agent.require_state().end(ended)
        assert ask(agent, "POST", "/submit-job?jobId=1&isStartWithSavePoint=true", JOB)[0] == 200
        found = agent.require_state().job("1")
        assert found is not None
        assert (found.restore, found.fresh) == (True, not begun)


def test_each_submission_has_its_own_id_and_a_repeated_one_keeps_it(tmp_path: Path) -> None:
    agent = leading(tmp_path, config_of(tmp_path))
    found = []
    for job_id in ("1", "2", "1"):
        assert ask(agent, "POST", f"/submit-job?jobId={job_id}", JOB)[0] == 200
        record = agent.require_state().job(job_id)
        assert record is not None
        found.append(record.submission)
    assert all(found)
    assert found[0] == found[2] != found[1]


def test_several_jobs_are_submitted_and_stopped_at_once(tmp_path: Path) -> None:
    agent = leading(tmp_path, config_of(tmp_path))
    jobs = [{"params": {"jobId": number, "jobName": f"j{number}"}, **json.loads(JOB)} for number in (0, "501")]
    answer = [{"jobId": "0", "jobName": "j0"}, {"jobId": "501", "jobName": "j501"}]
    assert ask(agent, "POST", "/submit-jobs", json.dumps(jobs))[:2] == (200, answer)
    stops = [{"jobId": 0, "isStopWithSavePoint": True}, {"jobId": "501", "force": True}]
    assert ask(agent, "POST", "/stop-jobs", json.dumps(stops))[:2] == (200, [{"jobId": "0"}, {"jobId": "501"}])
    stored = local_store(tmp_path).read()
    assert b'"wanted":"savepoint"' in stored["job/0"]
    assert b'"wanted":"cancel-at-once"' in stored["job/501"]


def test_a_list_says_which_of_its_jobs_were_accepted_before_one_that_is_refused(tmp_path: Path) -> None:
    agent = leading(tmp_path, config_of(tmp_path))
    good = {"params": {"jobId": "1"}, **json.loads(JOB)}
    bad = {"params": {"jobId": "2"}, "source": [], "sink": []}
    status, answer, _ = ask(agent, "POST", "/submit-jobs", json.dumps([good, bad]))
    assert status == 400
    assert "job 2 of the list was rejected; the jobs before it were accepted: 1" in answer["message"]
    assert set(local_store(tmp_path).read()) == {"job/1"}
    for body in ("{}", "[1]", "1", "[" * 100_000):
        status, answer, _ = ask(agent, "POST", "/submit-jobs", body)
        assert (status, answer["code"]) == (400, "invalid_json"), body[:10]


@pytest.mark.parametrize("path", ["/stop-job", "/stop-jobs"])
def test_what_is_wanted_of_a_job_is_not_guessed(tmp_path: Path, path: str) -> None:
    """``"isStopWithSavePoint": "false"`` took a savepoint, and any other text did, too."""
    agent = leading(tmp_path, config_of(tmp_path))
    ask(agent, "POST", "/submit-job?jobId=1", JOB)
    for entry, code in (
        ({"jobId": "1", "isStopWithSavePoint": "yes"}, "bad_request"),
        ({"jobId": "1", "force": 1}, "bad_request"),
        ({"jobId": [1]}, "invalid_id"),
        ({"jobId": "\ud800"}, "invalid_id"),
        ({"jobId": True}, "invalid_id"),
        ({}, "missing_job_id"),
    ):
        body = [{"jobId": "1"}, entry] if path == "/stop-jobs" else entry
        status, answer, _ = ask(agent, "POST", path, json.dumps(body))
        assert (status, answer["code"]) == (400, code), entry
    assert b'"wanted":"run"' in local_store(tmp_path).read()["job/1"], "nothing of a list is done when a part is wrong"
    right = {"jobId": "1", "isStopWithSavePoint": "false", "force": None}
    ask(agent, "POST", path, json.dumps([right] if path == "/stop-jobs" else right))
    assert b'"wanted":"cancel"' in local_store(tmp_path).read()["job/1"]
    status, answer, _ = ask(agent, "POST", "/submit-job?jobId=2&isStartWithSavePoint=1", JOB)
    assert (status, answer["code"]) == (400, "bad_request")


def test_a_job_is_encrypted_as_the_command_does_it(tmp_path: Path) -> None:
    agent = leading(tmp_path, config_of(tmp_path))
    job = {
        "env": {"parallelism": 1, "shade.identifier": "base64"},
        "source": [{"plugin_name": "Jdbc", "user": "u", "username": "${WHO}", "password": "secret"}],
        "sink": [{"plugin_name": "Console"}],
    }
    status, answer, _ = ask(agent, "POST", "/encrypt-config", json.dumps(job))
    assert status == 200
    assert answer["source"][0] == {**job["source"][0], "password": base64.b64encode(b"secret").decode()}  # type: ignore[index]
    assert (answer["sink"], answer["transform"], answer["env"]["parallelism"]) == (job["sink"], [], 1)
    for wrong in ({**job, "env": {}}, {**job, "sink": []}, {**job, "env": {"shade.identifier": "nobody"}}):
        assert ask(agent, "POST", "/encrypt-config", json.dumps(wrong))[0] == 400
    assert ask(agent, "POST", "/encrypt-config", "")[1]["code"] == "empty_body"


def test_half_a_character_is_refused_or_shown_as_a_question_mark(tmp_path: Path) -> None:
    """Such a name was stored, and nobody could read the record any more."""
    agent = leading(tmp_path, config_of(tmp_path))
    half = JOB.replace('"copy"', '"\\ud800"')
    status, _, _ = ask(agent, "POST", "/submit-job?jobId=1", half)
    assert status == 400
    assert ask(agent, "POST", "/submit-job?jobId=2", JOB.replace('"f"', '"\\ud800"'))[0] in (200, 400)
    assert ask(agent, "GET", "/running-jobs")[0] == 200
    assert ask(agent, "POST", "/update-tags", '{"\\ud800": "x"}')[0] == 400
    assert ask(agent, "POST", "/update-tags", '{"x": "\\ud800"}')[0] == 400


def test_a_wrong_method_is_told_which_ones_there_are(tmp_path: Path) -> None:
    agent = leading(tmp_path, config_of(tmp_path))
    status, answer, headers = ask(agent, "DELETE", "/submit-job")
    assert (status, answer["code"], headers["allow"]) == (405, "wrong_method", "POST")
    status, answer, _ = ask(agent, "GET", "/nothing")
    assert (status, answer["code"]) == (404, "not_found")
    assert ask(agent, "PUT", "/hazelcast/rest/maps/finished-jobs/FAILED")[0] == 405
