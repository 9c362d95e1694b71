"""The command that goes on with a job has to work as it is printed."""

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.cli.arguments import RunArguments, parse
from seatunnel_core.cli.resume import program, resume_command
from seatunnel_core.cli.terminal.command_line import secret_values
from seatunnel_core.config.option import STRING, Option
from seatunnel_core.errors import UsageError
from seatunnel_core.planning.variable_uses import secret_variables


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


def test_a_value_that_is_used_as_a_secret_is_not_repeated(tmp_path: Path) -> None:
    """``PW`` and ``hook`` do not speak of a secret, and their values were shown."""
    job = tmp_path / "job.conf"
    job.write_text(
        "source { Jdbc { password = ${PW}, user = ${user}, url = "
        '"jdbc:mysql://${host}/x?sslkeyPassword=${ssl}", query = "select ${PW2}" } }\n'
        'sink { Quiet { hook = "https://${hook}", address = ${host} } }'
    )
    given = {"PW": "hunter2", "user": "hunter2", "host": "db", "ssl": "s", "PW2": "1", "hook": "x1", "day": "hunter22"}
    secrets = secret_variables(job, given, _Plugins)
    assert secrets == {"PW", "user", "ssl", "hook", "day"}
    typed = [word for name, value in given.items() for word in ("-i", f"{name}={value}")]
    command = resume_command(["-c", "j", *typed], "42", secrets)
    assert command == (
        "seatunnel -c j -i 'PW=***' -i 'user=***' -i host=db -i 'ssl=***' -i PW2=1 -i 'hook=***' -i 'day=***' -r 42"
    )


class _Quiet:
    declared = (
        Option("hook", STRING, doc="Where to call.", secret=True),
        Option("address", STRING, doc="An address.", secret=True),
    )


class _Plugins:
    @staticmethod
    def source(identifier: str) -> type[Any]:
        raise UsageError(f"there is no {identifier}")

    @staticmethod
    def sink(_identifier: str) -> type[Any]:
        return _Quiet

    transform = source


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process change its command line")
def test_ps_shows_no_secret_of_the_command_line() -> None:
    code = (
        "import sys; from seatunnel_core.cli.terminal.command_line import hide_values; hide_values(['a=b', 'x'])\n"
        "print([each for each in open('/proc/self/cmdline').read().split(chr(0))[3:] if each], sys.argv[1:])"
    )
    given = ["-iPW=a=b", "--variable=x", "PW=x", "day=x1"]
    shown = subprocess.run([sys.executable, "-c", code, *given], capture_output=True, text=True, check=True).stdout
    assert shown == f"{['-iPW=', '--variable=', 'PW=', 'day=x1']} {given}\n"


def test_values_that_may_be_secrets_are_those_of_variables_and_of_java_options_with_a_password() -> None:
    given = [
        "-iPW=a=b",
        "--variable=X=y",
        "-i",
        "D=1",
        "-m",
        "local",
        "-DJvmOption=-Dp.password=z",
        "-DJvmOption=-Xmx1g",
    ]
    assert secret_values(given) == {"a=b", "X=y", "y", "1", "-Dp.password=z"}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process change its command line")
def test_ps_shows_no_variable_before_the_file_is_read(tmp_path: Path) -> None:
    code = (
        "import sys; sys.argv = ['seatunnel', *sys.argv[1:]]\n"
        "import seatunnel_core.cli.main as main\n"
        "main._dispatch = lambda argv, last: print(open('/proc/self/cmdline').read().split(chr(0))[3:], argv) or 0\n"
        "main.main()"
    )
    given = ["-c", "job.conf", "-i", "PW=hunter2", "-DJvmOption=-Dp.password=hunter2"]
    shown = subprocess.run([sys.executable, "-c", code, *given], capture_output=True, text=True, check=True).stdout
    before, _, after = shown.partition("] [")
    assert "hunter2" not in before
    assert "PW=" in before
    assert after.count("hunter2") == 2


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
