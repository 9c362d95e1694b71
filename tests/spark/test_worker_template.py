"""Tasks' processes are forked from one that has imported what they need; it ends with the driver, or is missing."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from seatunnel_core.spark.worker_daemon import TEMPLATE, handed_over
from seatunnel_core.spark.worker_template import FILE, WorkerTemplate

pytestmark = pytest.mark.spark
SECONDS = 60


@pytest.fixture
def folder() -> Iterator[str]:
    """With a path that is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="template-") as made:
        yield made


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def listening(folder: str) -> bool:
    return os.path.exists(os.path.join(folder, FILE))


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def run_in_spark(text: str, *arguments: str, **environment: str) -> str:
    """What a program prints that starts a Spark of the engine's."""
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text), *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    return ended.stdout


def test_workers_have_what_was_asked_for_before_their_first_task(tmp_path: Path) -> None:
    said = run_in_spark(
        """
        import sys
        from pathlib import Path
        from seatunnel_core.spark.starting import session
        from seatunnel_core.spark.starting.settings import SparkSettings

        folder = Path(sys.argv[1])
        settings = SparkSettings(parallelism=2, log_file=folder / "log", preloads=("colorsys", "no_such_thing"))
        running = session.start(settings)

        def seen(_):
            import gc, os, sys
            yield "colorsys" in sys.modules, gc.get_freeze_count() > 10_000, os.getppid(), os.environ["PYTHONHASHSEED"]

        print(*running.context.parallelize(range(2), 2).mapPartitions(seen).collect(), sep="\\n")
        template = running.template._process
        session.stop(running)
        print(template.poll())
        """,
        str(tmp_path),
    )
    *workers, template = said.splitlines()
    assert len(workers) == 2
    assert len(set(workers)) == 1, "two workers of one parent"
    assert workers[0].startswith("(True, True, ")
    assert workers[0].endswith("'0')")
    assert template == "0"


def test_without_a_template_spark_runs_its_tasks_all_the_same(tmp_path: Path) -> None:
    said = run_in_spark(
        """
        import sys
        from pathlib import Path
        from seatunnel_core.spark.starting import session
        from seatunnel_core.spark.starting.settings import SparkSettings

        running = session.start(SparkSettings(parallelism=2, log_file=Path(sys.argv[1], "log")))
        running.template._process.kill()
        running.template._process.wait()
        print(running.context.parallelize(range(4), 2).map(lambda each: each + 1).collect())
        session.stop(running)
        """,
        str(tmp_path),
    )
    assert said == "[1, 2, 3, 4]\n"


def test_it_ends_with_the_driver_however_that_ends(folder: str) -> None:
    text = """
        import sys, time
        from seatunnel_core.spark.worker_template import WorkerTemplate

        print(WorkerTemplate(sys.argv[1], [], sys.stderr.buffer)._process.pid, flush=True)
        time.sleep(60)
        """
    driver = subprocess.Popen([sys.executable, "-c", textwrap.dedent(text), folder], stdout=subprocess.PIPE, text=True)
    assert driver.stdout is not None
    template = int(driver.stdout.readline())
    until(lambda: listening(folder))
    driver.kill()
    driver.wait()
    driver.stdout.close()
    until(lambda: not Path(f"/proc/{template}").exists() or " Z " in Path(f"/proc/{template}/stat").read_text())


def test_what_was_forked_ends_when_spark_asks_for_it_and_when_its_pipe_does(folder: str, tmp_path: Path) -> None:
    with (tmp_path / "log").open("ab") as log:
        template = WorkerTemplate(folder, [], log)
    try:
        until(lambda: listening(folder))
        for ends in (
            lambda daemon: daemon.send_signal(signal.SIGTERM),
            lambda daemon: daemon.stdin.close(),
        ):
            daemon = subprocess.Popen(
                [sys.executable, "-m", "seatunnel_core.spark.worker_daemon", "pyspark.worker"],
                env={**os.environ, TEMPLATE: os.path.join(folder, FILE)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            assert daemon.stdout is not None
            assert len(daemon.stdout.read(4)) == 4, "its port"
            assert len(children(template._process.pid)) == 1
            assert children(daemon.pid) == []
            ends(daemon)
            until(lambda: children(template._process.pid) == [])
            daemon.wait(SECONDS)
            daemon.stdout.close()
            if daemon.stdin is not None:
                daemon.stdin.close()
    finally:
        template.stop()


def test_who_finds_no_template_gets_a_message(folder: str) -> None:
    assert not handed_over(os.path.join(folder, FILE))
    assert not handed_over("")


def test_who_is_asked_to_end_before_he_knows_for_whom_passes_it_on(folder: str) -> None:
    """On a busy machine the one that was forked tells its port first."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as template, subprocess.Popen(["sleep", "60"]) as forked:
        template.bind(os.path.join(folder, FILE))
        template.listen()
        command = [sys.executable, "-m", "seatunnel_core.spark.worker_daemon", "pyspark.worker"]
        with subprocess.Popen(command, env={**os.environ, TEMPLATE: os.path.join(folder, FILE)}) as daemon:
            asking, _ = template.accept()
            with asking:
                while asking.recv(1 << 16):
                    pass
                daemon.send_signal(signal.SIGTERM)
                time.sleep(0.3)
                assert daemon.poll() is None
                asking.sendall(str(forked.pid).encode())
                assert forked.wait(SECONDS) == -signal.SIGTERM
            assert daemon.wait(SECONDS) == 0


def test_a_template_that_stands_still_is_killed(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every wait for another process has a limit: the end of a job waited forever for a process that was paused."""
    monkeypatch.setattr("seatunnel_core.spark.worker_template._ENDS_WITHIN_S", 0.2)
    with (tmp_path / "log").open("ab") as log:
        template = WorkerTemplate(folder, [], log)
    template._process.send_signal(signal.SIGSTOP)
    template.stop()
    assert template._process.returncode == -signal.SIGKILL
