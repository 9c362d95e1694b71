"""Exit codes, and where a traceback is shown: for a bug of ours, and nowhere else."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from seatunnel_core.cli import init, main
from seatunnel_core.errors import ConfigError, JobFailedError, PlatformError
from seatunnel_storage_api.errors import CheckpointStorageError
from tests.inspector.conftest import made, storage
from tests.inspector.made import Made

__all__ = ["made", "storage"]


def fail_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> int:
    def raise_it(folder: Path, *, cluster: bool = False) -> None:
        raise error

    monkeypatch.setattr(init, "init", raise_it)
    return main.main(["init", "somewhere"])


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("job.conf:3: what is wrong"), 2),
        (PlatformError("what is wrong"), 1),
        (JobFailedError("what is wrong"), 1),
        (CheckpointStorageError("what is wrong"), 1),
    ],
)
def test_what_a_person_can_act_on_is_one_message(
    error: Exception, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fail_with(error, monkeypatch) == code
    said = capsys.readouterr()
    more = f"\nMore: seatunnel help {error.code}" if code == 1 else ""  # type: ignore[attr-defined]
    assert said.err.strip() == f"{error}{more}"
    assert said.out == ""


def test_a_terminal_that_lacks_a_letter_gets_another_way_to_write_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name in a report, or a file name that is no text, ended the command as if it were a bug of ours."""
    (tmp_path / "job.conf").write_text(
        'env { job.name = "größe" }\nsource { FakeSource { schema { fields { id = int } } } }\nsink { Console {} }',
        encoding="utf-8",
    )
    shown = io.BytesIO()
    with io.TextIOWrapper(shown, encoding="ascii") as terminal:
        monkeypatch.setattr(sys, "stdout", terminal)
        assert main.main(["--check", "-c", str(tmp_path / "job.conf")]) == 0
        terminal.flush()
        assert b"job 'gr\\xf6\\xdfe'" in shown.getvalue()


def test_a_bug_of_ours_shows_its_traceback_and_asks_for_a_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fail_with(RuntimeError("unexpected"), monkeypatch) == 1
    said = capsys.readouterr().err
    assert "Traceback" in said
    assert "RuntimeError: unexpected" in said
    assert "This is a bug in seatunnel-core" in said


def entered(*argv: str, stdout: int) -> "subprocess.CompletedProcess[str]":
    """The command in a process of its own, as a shell starts it."""
    command = [sys.executable, "-m", "seatunnel_core.cli", *argv]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False, timeout=200)


@pytest.fixture(params=["verify", "--check"])
def command(request: pytest.FixtureRequest, made: Made) -> list[str]:
    conf = Path(made.storage.namespace).parent / "job.conf"
    conf.write_text("source { FakeSource { schema { fields { id = int } } } }\nsink { Console {} }")
    return {
        "verify": ["checkpoints", "verify", "--from", made.storage.namespace],
        "--check": ["--check", "-c", str(conf)],
    }[request.param]


def test_a_reader_who_has_seen_enough_is_no_failure(command: list[str]) -> None:
    """`seatunnel --help | head -1` ended with 0, and everything else with 1."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = entered(*command, stdout=writing)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_full_disk_behind_the_output_is_no_bug_of_ours(command: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        done = entered(*command, stdout=full.fileno())
    assert done.stderr == "Not all output could be written: No space left on device. Free some space, and try again.\n"
    assert done.returncode == 1


def test_a_pipe_that_breaks_elsewhere_is_not_taken_for_our_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fail_with(BrokenPipeError(), monkeypatch) == 1


def test_ctrl_c_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fail_with(KeyboardInterrupt(), monkeypatch) == 130


def test_windows_is_refused_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert main.main(["plugins"]) == 2
    assert "WSL 2" in capsys.readouterr().err


def test_wrong_usage_is_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["--hlep"]) == 2
    assert "did you mean --help?" in capsys.readouterr().err


@pytest.mark.parametrize(("argv", "frozen"), [("None", True), ("['--version']", False)])
def test_a_process_that_is_the_command_ends_without_a_search_for_garbage(argv: str, frozen: bool) -> None:
    """A third of a second of the processor behind Spark and Arrow, and half a minute where it is short."""
    asked = (
        "import contextlib, gc, sys; from seatunnel_core.cli.main import main; sys.argv = ['seatunnel', '--version']\n"
        "before = gc.get_freeze_count()"  # Python 3.12 freezes some objects itself
    )
    with_end = f"\nwith contextlib.suppress(SystemExit): main({argv})\nprint(gc.get_freeze_count() > before)"
    told = subprocess.run(
        [sys.executable, "-c", asked + with_end], capture_output=True, text=True, check=True, timeout=200
    )
    assert told.stdout.split()[-1] == str(frozen)
