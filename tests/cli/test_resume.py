"""The command that goes on with a job has to work as it is printed."""

import shlex
import sys

import pytest

from seatunnel_core.cli.arguments import RunArguments, parse
from seatunnel_core.cli.resume import program, resume_command


@pytest.fixture(autouse=True)
def started_as_seatunnel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEATUNNEL_COMMAND", "seatunnel")


@pytest.mark.parametrize(
    "typed",
    [
        ["-c", "my job.conf", "-m", "local[2]"],
        ["-c", "my job.conf", "-m", "local[2]", "--set-job-id", "1"],
        ["--set-job-id=1", "-c", "my job.conf", "-m", "local[2]"],
        ["-r", "1", "-c", "my job.conf", "-m", "local[2]"],
        ["-r1", "-c", "my job.conf", "-m", "local[2]"],
        ["--restore=1", "-c", "my job.conf", "-m", "local[2]"],
    ],
)
def test_the_id_is_replaced_and_the_rest_is_kept(typed: list[str]) -> None:
    command = resume_command(typed, "42")
    assert command == "seatunnel -c 'my job.conf' -m 'local[2]' -r 42"
    resumed = parse(shlex.split(command)[1:], version="1")
    assert isinstance(resumed, RunArguments)
    assert (str(resumed.config), resumed.restore) == ("my job.conf", "42")


@pytest.mark.parametrize("typed", [["-i", "db.password=x1"], ["-idb.password=x1"], ["--variable=db.password=x1"]])
def test_the_value_of_a_secret_is_not_repeated(typed: list[str]) -> None:
    command = resume_command(["-c", "j", *typed, "-i", "day=x1y"], "42")
    assert "db.password=***" in command
    assert "x1 " not in command
    assert "day=x1y" in command


def test_without_a_script_the_interpreter_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SEATUNNEL_COMMAND")
    monkeypatch.setattr(sys, "argv", ["/somewhere/seatunnel_core/cli/__main__.py"])
    assert program() == [sys.executable, "-m", "seatunnel_core.cli"]


def test_a_script_that_is_not_on_the_path_is_named_by_its_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.delenv("SEATUNNEL_COMMAND")
    script = tmp_path_factory.mktemp("a b") / "seatunnel"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(script)])
    monkeypatch.setenv("PATH", "/nowhere")
    assert program() == [str(script)]
    monkeypatch.setenv("PATH", str(script.parent))
    assert program() == ["seatunnel"]
