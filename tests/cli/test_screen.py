"""Who writes to the screen, and that a reader who stalls holds up nobody but the screen."""

import logging
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from seatunnel_core.cli import screen as cli_screen
from seatunnel_core.cli.screen import Backlog, screen
from seatunnel_core.reporting.report import JobProgress

PROGRESS = JobProgress(job_id="42", name="j", pipelines=())


def in_another_thread(work: Callable[[], None]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join(timeout=60)
    assert not thread.is_alive(), "it waits for the reader of the screen"


def say_each(backlog: Backlog, lines: str) -> None:
    for line in lines:
        backlog(line)


def test_what_its_own_thread_says_is_written_at_once() -> None:
    lines: list[str] = []
    Backlog(lines.append)("now")
    assert lines == ["now"]


def test_what_another_thread_says_waits_in_order() -> None:
    lines: list[str] = []
    backlog = Backlog(lines.append)
    in_another_thread(lambda: say_each(backlog, "abc"))
    assert lines == []
    backlog("d")
    assert lines == ["a", "b", "c", "d"]


def test_a_backlog_is_bounded_and_says_what_it_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_screen, "MOST_WAITING", 2)
    lines: list[str] = []
    backlog = Backlog(lines.append)
    in_another_thread(lambda: say_each(backlog, "abcd"))
    backlog.flush()
    backlog.flush()
    assert lines == [
        "a",
        "b",
        "2 lines of the log are missing here, because they were written faster than they could be displayed",
    ]


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_a_reader_who_stalls_stops_no_other_thread(
    log_format: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Log records and the words at the job's begin were printed by the thread that takes the checkpoints: with a pager
    in front of the screen, checkpoints stopped."""
    read_on = threading.Event()
    written_by: list[int] = []

    class Stalled(cli_screen._StandardOutput):
        def __call__(self, line: str) -> None:
            written_by.append(threading.get_ident())
            read_on.wait(120)
            super().__call__(line)

    monkeypatch.setattr(cli_screen, "_StandardOutput", Stalled)
    with screen(interval_s=60, log_level="INFO", log_format=log_format) as shown:
        in_another_thread(lambda: shown.say("the job runs"))
        in_another_thread(lambda: logging.getLogger("seatunnel.job").info("a record"))
        assert written_by == []
        read_on.set()
        shown.show(PROGRESS)
        said = capsys.readouterr().out
    assert said.index("the job runs") < said.index("a record")
    assert set(written_by) == {threading.get_ident()}


def test_a_job_goes_on_when_the_disk_behind_its_log_is_full() -> None:
    """The job failed, as if it were a bug of ours, with the first line that found no room."""
    program = """
import logging, sys
from seatunnel_core.cli.screen import screen
with screen(interval_s=60, log_level="INFO", log_format=sys.argv[1]) as shown:
    for number in range(3):
        shown.say(f"line {number}")
        logging.getLogger("seatunnel.job").info("a record")
sys.exit(7)
"""
    for log_format in ("text", "json"):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [sys.executable, "-c", program, log_format], stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        assert done.stderr == "standard output cannot be written: No space left on device. The job continues\n"
        assert done.returncode == 7
