"""``seatunnel state``: what it shows, and what it changes."""

import json
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.claiming import increments
from seatunnel_core.cli.main import main
from seatunnel_core.cli.state import command
from seatunnel_core.job.increment_state import IncrementState, SourceState
from seatunnel_core.job.manifest import Manifest
from seatunnel_core.work.window import Cursor, Window
from seatunnel_storage_api.discovery import open_storage
from seatunnel_storage_api.storage import CheckpointStorage

READS = {"table": "orders", "column": "changed"}


class States:
    """A storage with states, and the command that looks at it."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = f"{folder}/state/"
        self._capsys = capsys

    def open(self) -> CheckpointStorage:
        return open_storage("hdfs", {"namespace": self.folder})

    def say(self, *arguments: str) -> tuple[int, str]:
        code = main(["state", *arguments, "--storage", self.folder])
        said = self._capsys.readouterr()
        return code, said.out + said.err

    def shown(self) -> Any:
        code, said = self.say("show", "--json")
        assert code == 0
        return json.loads(said)["states"]


@pytest.fixture
def states(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> States:
    """A job of the state ``nightly`` that has not ended, behind one that was read up to 3."""
    found = States(tmp_path, capsys)
    before = Cursor(value="3", since="2", delivered=frozenset({"x"}))
    window = Window(reads=READS, after=before, upto=Cursor(value="5", since="4", delivered=frozenset({"y", "z"})))
    with found.open() as storage:
        manifest = Manifest(job_name="nightly", windows={"orders": window}, state_name="nightly")
        storage.put_manifest("job", 1, manifest.to_bytes())
        sources = {"orders": SourceState(reads=READS, cursor=before)}
        increments.put(storage, IncrementState(name="nightly", sources=sources, job_id="job", is_done=False))
    return found


def end(states: States) -> None:
    with states.open() as storage:
        found = storage.get_manifest("job")
        assert found is not None
        storage.put_manifest("job", 2, Manifest.from_bytes(found.body).closed({}).to_bytes())


def test_the_cursor_of_a_job_that_has_not_ended_is_the_old_one(states: States) -> None:
    (shown,) = states.shown()
    assert (shown["job"], shown["ended"]) == ("job", False)
    assert shown["sources"] == {"orders": {"reads": READS, "value": "3", "since": "2", "rows_since": 1}}
    code, said = states.say("show", "nightly")
    assert code == 0
    assert said.splitlines()[-1].split() == ["nightly", "orders", "changed", "3", "2", "job", "has", "not", "ended"]


def test_the_cursor_of_a_job_that_has_ended_is_its_own_before_anybody_noted_it(states: States) -> None:
    end(states)
    (shown,) = states.shown()
    assert shown["ended"]
    assert shown["sources"]["orders"]["value"] == "5"


def test_a_value_is_set_behind_the_last_job_only_when_it_has_ended(states: States) -> None:
    code, said = states.say("set", "nightly", "4")
    assert code == 2
    assert "The job job has not ended" in said
    end(states)
    assert states.say("set", "nightly", "4") == (0, "The next job of nightly reads the rows of orders after 4.\n")
    assert states.shown()[0]["sources"] == {"orders": {"reads": None, "value": "4", "since": None, "rows_since": 0}}
    code, said = states.say("set", "nightly", "others", "7")
    assert code == 0
    assert states.say("set", "nightly", "8") == (
        2,
        "Specify a source of nightly (known: orders, others): run seatunnel state set nightly SOURCE VALUE\n",
    )


def test_a_job_that_never_ends_is_given_up_by_a_reset(states: States, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(command, "working_process", lambda *_: 17)
        code, said = states.say("reset", "nightly")
        assert code == 2
        assert "runs in process 17" in said
    assert states.say("reset", "nightly")[0] == 0
    assert states.shown() == [{"name": "nightly", "job": None, "ended": True, "sources": {}}]
    assert "from the beginning" in states.say("show")[1]


def test_whoever_changes_it_meanwhile_wins(states: States, monkeypatch: pytest.MonkeyPatch) -> None:
    def put(storage: CheckpointStorage, found: IncrementState) -> None:
        increments.put(storage, found)
        increments.put(storage, found)

    monkeypatch.setattr(command, "put", put)
    code, said = states.say("reset", "nightly")
    assert code == 2
    assert "A job of this name has just started or ended" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "verb"),
        (["set", "nightly"], "Expected: seatunnel state set NAME [SOURCE] VALUE"),
        (["reset"], "Expected: seatunnel state reset NAME"),
        (["show", "nigthly"], "There is no state 'nigthly'"),
        (["drop", "nightly"], "invalid choice"),
    ],
)
def test_wrong_arguments_are_refused(states: States, arguments: list[str], said: str) -> None:
    code, found = states.say(*arguments)
    assert code == 2
    assert said.lower() in found.lower()
