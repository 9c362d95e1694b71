"""Events are told in their order, without holding anybody up, and not lost while nobody takes them."""

import asyncio
import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.errors import ConfigError
from seatunnel_core.server.events import reports, watching
from seatunnel_core.server.events.reports import EventReports, http_post
from seatunnel_core.server.events.watching import EventWatch, Known, events_between, surely_told
from tests.server.nodes import until
from tests.server.test_rest import JOB, ask, config_of, leading
from tests.servers.http_stand_in import StandIn, stand_in


class Taker(StandIn):
    """Takes events; refuses as many requests as ``refuse`` says."""

    taken: list[Any]
    refuse = 0

    def do_POST(self) -> None:
        body = self.body()
        if Taker.refuse:
            Taker.refuse -= 1
            self.send_error(500)
            return
        Taker.taken.append((self.headers["x-token"], json.loads(body)))
        self.reply(200)


@pytest.fixture
def address() -> Any:
    """Give the address of a server that takes events."""
    Taker.taken, Taker.refuse = [], 0
    with stand_in(Taker) as address:
        yield f"http://{address}/event"


def received() -> list[Any]:
    return [event for _, events in Taker.taken for event in events]


def test_events_come_in_their_order_after_they_were_refused(address: str, caplog: pytest.LogCaptureFixture) -> None:
    Taker.refuse = 2
    queue = EventReports(http_post(address, {"x-token": "secret-token"}), again_s=(0.01,))
    for number in range(250):
        queue.put({"number": number})
    until("all are told", lambda: len(received()) == 250)
    queue.close()
    assert [each["number"] for each in received()] == list(range(250))
    assert {token for token, _ in Taker.taken} == {"secret-token"}
    assert max(len(events) for _, events in Taker.taken) <= 100
    assert "it responds with HTTP 500" in caplog.text
    assert "secret-token" not in caplog.text


def test_nobody_waits_for_an_address_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest events are given up, and that is counted."""
    monkeypatch.setattr(reports, "MOST", 10)
    hanging, tried = threading.Event(), threading.Event()

    def post(_body: bytes) -> None:
        tried.set()
        hanging.wait(120)
        raise OSError("it hangs")

    queue = EventReports(post, again_s=(60.0,))
    queue.put({"number": -1})
    assert tried.wait(60)
    begun = time.monotonic()
    for number in range(100):
        queue.put({"number": number})
    assert time.monotonic() - begun < 60
    hanging.set()
    until("the first one is given up too", lambda: queue.given_up == 91)
    queue.close()
    assert [each["number"] for each in queue._waiting] == list(range(90, 100))


def test_an_address_that_is_none_is_said_and_nothing_ends(caplog: pytest.LogCaptureFixture) -> None:
    queue = EventReports(http_post("http://127.0.0.1:1/", {}), again_s=(60.0,))
    queue.put({})
    until("it is said", lambda: "does not accept them" in caplog.text)
    queue.close()


def test_what_happened_between_two_looks() -> None:
    before = {
        "1": Known(name="a", state="RUNNING", checkpoints={1: (4, 0), 2: (None, 0)}),
        "2": Known(name="b", state="RUNNING"),
        "3": Known(name="c", state="FINISHED"),
    }
    now = {
        "1": Known(name="a", state="RUNNING", checkpoints={1: (6, 2), 2: (1, 0)}),
        "2": Known(name="b", state="FAILED", error="why"),
        "4": Known(name="d", state="PENDING"),
    }
    found = [{key: value for key, value in each.items() if key != "jobName"} for each in events_between(before, now, 5)]
    assert found == [
        {"jobId": "1", "createdTime": 5, "pipelineId": 1, "eventType": "CHECKPOINT_FAILED", "failed": 2},
        {"jobId": "1", "createdTime": 5, "pipelineId": 1, "eventType": "CHECKPOINT_COMPLETED", "checkpointId": 6},
        {"jobId": "1", "createdTime": 5, "pipelineId": 2, "eventType": "CHECKPOINT_COMPLETED", "checkpointId": 1},
        {"jobId": "2", "createdTime": 5, "eventType": "JOB_STATUS", "jobStatus": "FAILED", "errorMsg": "why"},
        {"jobId": "4", "createdTime": 5, "eventType": "JOB_STATUS", "jobStatus": "PENDING"},
    ]
    assert list(events_between(now, now, 5)) == []


def test_a_leader_tells_what_its_jobs_become(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And again what they had become when the leader before it may have ended without telling it."""
    monkeypatch.setattr(watching, "LOOK_S", 0.01)
    agent = leading(tmp_path, config_of(tmp_path))
    state = agent.require_state()
    ask(agent, "POST", "/submit-job?jobId=1&jobName=one", JOB)
    record = state.job("1")
    assert record is not None
    state.put(evolve(record, job_id="0", name="old", since=record.since - 2 * watching.AGAIN_S))
    state.put(evolve(record, job_id="1", name="one", since=record.since - 2 * watching._OWN_S))
    queue = EventReports(lambda _: None)
    put: list[Any] = []
    monkeypatch.setattr(queue, "put", put.append)

    async def play() -> None:
        watch = asyncio.create_task(EventWatch(agent, queue).run())
        await asyncio.sleep(0.05)
        state.put(evolve(record, job_id="2", name="new"))
        await asyncio.sleep(0.05)
        watch.cancel()

    asyncio.run(play())
    queue.close()
    told = [(each["jobId"], each["jobName"], each["jobStatus"], each.get("repeated")) for each in put]
    assert told == [("1", "one", "PENDING", True), ("2", "new", "PENDING", None)]


def test_an_end_that_the_leader_before_may_not_have_told_is_told_again() -> None:
    """However long nobody led since, and whatever the new leader has recorded by then."""
    found = {
        "long ago": Known(name="", state="FINISHED", since=1_000.0),
        "before": Known(name="", state="FAILED", since=5_000.0),
        "last": Known(name="", state="RUNNING", since=5_000.0 + watching.AGAIN_S),
        "own": Known(name="", state="SCHEDULED", since=9_999.0),
    }
    assert set(surely_told(found, now=10_000.0)) == {"long ago"}
    told = {each["jobId"] for each in events_between(surely_told(found, 10_000.0), found, 1)}
    assert told == {"before", "last", "own"}
    assert surely_told({}, now=10_000.0) == {}


@pytest.mark.parametrize("url", ["ftp://a/", "file:///etc/passwd", "nowhere", ""])
def test_an_address_is_one_of_http(tmp_path: Path, url: str) -> None:
    (tmp_path / "seatunnel.yaml").write_text(f"seatunnel: {{engine: {{event-report-http: {{url: '{url}'}}}}}}")
    with pytest.raises(ConfigError, match="http://"):
        config_of(tmp_path)
