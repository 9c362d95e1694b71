"""The checker notices what it is there for: histories, sinks and logs that are wrong on purpose."""

from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from tests.server.nemesis import checker
from tests.server.nemesis.checker import Verdict, ends_of, judge, judge_rows, led_twice, of_last_life, stops
from tests.server.nemesis.clients import Clients
from tests.server.nemesis.ground import PLANS, Ground
from tests.server.nemesis.history import Call, History
from tests.server.nemesis.work import Target, Work
from tests.server.nodes import Nodes


def call(what: str, said: str = "", *, at: float, status: int = 200) -> Call:
    return Call(job_id="1", what=what, began=at, ended=at, status=status, said=said)


@pytest.mark.parametrize(
    ("calls", "wrong"),
    [
        ([call("look", "RUNNING", at=1), call("look", "FINISHED", at=2)], False),
        ([call("look", "FINISHED", at=1), call("look", "RUNNING", at=2)], True),
        ([call("look", "CANCELED", at=1), call("look", "FINISHED", at=2)], True),
        ([call("look", "FINISHED", at=1), call("look", "", at=2)], True),
        ([call("look", "FINISHED", at=1), call("look", "", at=2, status=503)], False),
        ([call("look", "CANCELED", at=1), call("resume", at=2), call("look", "FINISHED", at=3)], False),
    ],
)
def test_an_end_that_does_not_stay(calls: list[Call], wrong: bool) -> None:
    assert bool(list(ends_of(calls))) == wrong


@pytest.mark.parametrize(
    ("rows", "state", "lost", "doubled"),
    [
        ([1, 2, 3], "FINISHED", 0, 0),
        ([1, 3], "FINISHED", 1, 0),
        ([1, 2, 2, 3], "FINISHED", 0, 1),
        ([1, 2, 3, 4], "FINISHED", 0, 1),
        ([1], "CANCELED", 0, 0),
        ([1, 1], "CANCELED", 0, 1),
        ([1, 1], "", 0, 1),
    ],
)
def test_rows_that_are_missing_or_there_twice(
    tmp_path: Path, rows: list[int], state: str, lost: int, doubled: int
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/part.csv").write_text("".join(f"{row},text\n" for row in rows))
    target = Target(kind="csv", source=0, rows=3, place=str(tmp_path / "out"))
    ground, verdict = Ground(PLANS["files"], Nodes(tmp_path, tmp_path), [], tmp_path), Verdict()
    judge_rows(ground, target, state, "job 1", verdict, whole=state == "FINISHED")
    assert (verdict.lost, verdict.doubled) == (lost, doubled)
    assert bool(verdict.problems) == bool(lost or doubled)


def a_work(folder: Path, **more: Any) -> Work:
    target = Target(kind="csv", source=0, rows=4_000, place=str(folder))
    return Work(
        job_id="1", targets=(target,), rows_per_second=20, fate="savepoint", resumed=False, patient=True, **more
    )


@pytest.mark.parametrize(
    ("state", "error", "streaming", "lost"),
    [
        ("RUNNING", "", False, 1),
        ("", "nobody knows it", False, 1),
        ("SAVEPOINT_DONE", "", False, 0),
        ("SAVEPOINT_DONE", "", True, 1),
        ("CANCELED", "the job was stopped before it started", True, 0),
    ],
)
def test_a_job_without_an_end_is_lost_and_so_are_rows_of_a_streaming_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str, error: str, streaming: bool, lost: int
) -> None:
    """Whoever stops a streaming job for good has seen all of its rows before."""
    monkeypatch.setattr(checker, "last_state", lambda *_: (state, error))
    ground = Ground(PLANS["files"], Nodes(tmp_path, tmp_path), [], tmp_path)
    clients = Clients(ground, History(tmp_path / "history.jsonl"), 1)
    clients.works.append(a_work(tmp_path / "out", streaming=streaming))
    clients.history.note(call("submit", at=1))
    monkeypatch.setattr(checker, "slots", lambda _: [])
    verdict = judge(ground, clients)
    assert (verdict.lost, verdict.unfinished) == (lost, int(state == "RUNNING"))
    assert bool(verdict.problems) == bool(lost)


def test_a_stop_that_was_forgotten(tmp_path: Path) -> None:
    work = a_work(tmp_path)
    assert list(stops([call("savepoint", at=1)], work, "FINISHED", "")) != []
    assert list(stops([call("savepoint", at=1)], work, "CANCELED", "")) != []
    assert list(stops([call("savepoint", at=1)], work, "SAVEPOINT_DONE", "")) == []
    assert list(stops([], evolve(work, fate="run"), "CANCELED", "")) != []
    assert list(stops([], evolve(work, streaming=True), "FINISHED", "")) != []
    assert list(stops([call("savepoint", at=1, status=0)], work, "FINISHED", "")) == []


def test_a_stop_counts_for_the_life_in_which_it_was_asked_for() -> None:
    first, resumed, second = call("savepoint", at=1), call("resume", "taken", at=2), call("savepoint", at=3)
    assert of_last_life([first]) == [first]
    assert of_last_life([first, resumed]) == []
    assert of_last_life([first, resumed, second]) == [second]
    assert of_last_life([first, evolve(resumed, status=0)]) != []


def test_two_that_lead_in_one_term() -> None:
    line = "INFO seatunnel.cluster: this node ({}) leads in term {}, with 0 jobs\n"
    once = line.format("a:1", 1) + line.format("b:2", 2)
    assert list(led_twice([once, line.format("a:1", 3)])) == []
    assert list(led_twice([once, line.format("a:1", 2)])) == ["a:1 and b:2 led in term 2"]


def test_a_history_is_kept_call_by_call(tmp_path: Path) -> None:
    history = History(tmp_path / "history.jsonl")
    history.note(call("submit", at=1))
    history.note(call("look", "RUNNING", at=2))
    assert [each.what for each in history.of("1", "look")] == ["look"]
    assert len((tmp_path / "history.jsonl").read_text().splitlines()) == 2
