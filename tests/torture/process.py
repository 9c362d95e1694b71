"""A ``seatunnel`` process in a session of its own, and the processes that it starts, as seen from outside."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from seatunnel_core.spark.starting.archived_classes import FOLDER
from seatunnel_core.spark.starting.settings import cache_folder

STOPS = Path(__file__).with_name("stops.py")
ARCHIVES = os.environ.get(FOLDER) or str(cache_folder(os.environ))
"""One for all jobs: each has a home of its own, and would leave a process behind that makes an archive for that."""


@frozen
class Seen:
    """One process, as ``/proc`` shows it."""

    pid: int
    state: str
    parent: int
    session: int
    command: str


def processes(session: int) -> list[Seen]:
    """The processes of a session that are not zombies."""
    return [seen for seen in _all() if seen.session == session and seen.state != "Z"]


def _all() -> Iterator[Seen]:
    for name in os.listdir("/proc"):
        if name.isdigit() and (seen := process_of(int(name))) is not None:
            yield seen


def process_of(pid: int) -> Seen | None:
    """``None`` when there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            command = file.read().replace(b"\0", b" ").decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    return Seen(pid, fields[0], int(fields[1]), int(fields[3]), command)


def peak_bytes(pid: int) -> int:
    """The largest resident size of a process so far; 0 when it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)


def processor_seconds(pid: int) -> tuple[float, float]:
    """How long the threads of a process have run, and have been ready to run while others did: whether it hangs, or the
    machine has no time for it."""
    ran = waited = 0
    for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            fields = path.read_text("ascii").split()
        except OSError:  # the thread has just ended
            continue
        ran, waited = ran + int(fields[0]), waited + int(fields[1])
    return ran / 1e9, waited / 1e9


class Engine:
    """One ``seatunnel`` process. Its output, standard error included, goes to ``log``."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        log: Path,
        environment: Mapping[str, str],
        stop: Sequence[Any] | None = None,
        script: Path = STOPS,
    ) -> None:
        self.log = log
        env = {**os.environ, **environment}
        if stop is not None:
            env["TORTURE_STOP"] = json.dumps(list(stop))
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, str(script), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=env,
                start_new_session=True,
            )
        self.pid = self._process.pid
        self.started = time.monotonic()

    @property
    def exit_code(self) -> int | None:
        """``None`` while it runs; minus the signal when one ended it."""
        return self._process.poll()

    @property
    def age_s(self) -> float:
        return time.monotonic() - self.started

    @property
    def stopped(self) -> bool:
        """Whether it stands still at its stop."""
        seen = process_of(self.pid)
        return seen is not None and seen.state == "T"

    @property
    def output(self) -> str:
        return self.log.read_text("utf-8", errors="replace")

    def wait(self, timeout_s: float) -> int:
        """The exit code. When it takes too long, the stacks of its threads go to the log and the session is killed.

        Raises:
            TimeoutError: with the end of the log.
        """
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            ran_s, waited_s = processor_seconds(self.pid)
            os.kill(self.pid, signal.SIGUSR1)
            time.sleep(1)
            self.end()
            raise TimeoutError(
                f"did not end in the {self.age_s:.0f} s since its start; its threads have run for {ran_s:.0f} s and "
                f"waited {waited_s:.0f} s for a processor:\n{self.output[-6000:]}"
            ) from None

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def pause(self, free: Callable[[], bool], patience_s: float = 60) -> None:
        """Put it to sleep, at a moment at which it holds nothing that others need, as ``free`` tells.

        Raises:
            TimeoutError: there was no such moment.
        """
        deadline = time.monotonic() + patience_s
        while True:
            self.signal(signal.SIGSTOP)
            while not self.stopped and self.exit_code is None:
                time.sleep(0.001)
            if self.exit_code is not None or free():
                return
            if time.monotonic() > deadline:
                raise TimeoutError(f"process {self.pid} could not be put to sleep: it holds a lock all the time")
            self.signal(signal.SIGCONT)
            time.sleep(0.01)

    def signal_all(self, number: int) -> None:
        """To each process of its session, as when the whole machine is put to sleep or woken up."""
        for seen in processes(self.pid):
            try:
                os.kill(seen.pid, number)
            except ProcessLookupError:
                continue

    def kill(self, pid: int | None = None) -> None:
        """kill -9 of one process, the driver when none is named; all others are left to themselves."""
        os.kill(self.pid if pid is None else pid, signal.SIGKILL)
        if pid in (None, self.pid):
            self._process.wait()

    def jvms(self) -> list[Seen]:
        """Spark's JVM, when it has been started."""
        return [seen for seen in processes(self.pid) if "org.apache.spark" in seen.command]

    def workers(self) -> list[Seen]:
        """The Python workers: what was forked from what was forked from their template."""
        python = [seen for seen in processes(self.pid) if "spark.worker_template" in seen.command]
        templates = {seen.pid for seen in python if seen.parent == self.pid}
        parents = {seen.pid for seen in python if seen.parent in templates}
        return [seen for seen in python if seen.parent in parents]

    def left_over(self, patience_s: float = 20) -> list[Seen]:
        """What still runs of its session after some time, the process itself included."""
        deadline = time.monotonic() + patience_s
        while (left := processes(self.pid)) and time.monotonic() < deadline:
            time.sleep(0.1)
        return left

    def end(self) -> None:
        """Kill the whole session."""
        self.signal_all(signal.SIGKILL)
        self._process.wait()
