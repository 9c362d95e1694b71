"""Runs of a task by one of the two systems: timed, or killed and run again, and judged."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from tests.bench import peers
from tests.bench.process_tree import watched
from tests.bench.ten_tasks.judging import Judgement, judge
from tests.bench.ten_tasks.place import DLT, Place, Servers
from tests.bench.ten_tasks.task import PROGRAMS, Task
from tests.torture.process import processes

POLL_S = 0.02
MOST_RUNS = 4
"""So often a program is run again that has not come to its end."""


class PlayError(Exception):
    """A program failed, though nobody killed it; the message has the end of what it printed."""


@frozen(kw_only=True)
class Kill:
    """The moment at which a program is killed with all that it started."""

    after_s: float = 0.0
    printed: str = ""
    """The text that the program prints before the seconds begin; empty: they begin with the program."""

    def wait(self, log: Path, has_ended: threading.Event) -> bool:
        """Return whether the moment has come before the program ended."""
        while self.printed and self.printed not in log.read_text("utf-8", errors="replace"):
            if has_ended.wait(POLL_S):
                return False
        return not has_ended.wait(self.after_s)


@frozen(kw_only=True)
class Ended:
    """One process with all that it started."""

    seconds: float
    peak_bytes: int
    exit_code: int
    output: str


@frozen(kw_only=True)
class Turn:
    """One measured run, and what the target had then."""

    seconds: float
    """Of all processes together, where the first one was killed."""

    peak_bytes: int
    judgement: Judgement
    killed_after_s: float | None = None
    """The ``after_s`` of the kill that came in time."""

    runs: int = 1
    """How many processes there were, the killed one included."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@frozen(kw_only=True)
class Play:
    """A task with its rows and servers, ready for any number of turns."""

    task: Task
    rows: int
    data: Path
    """The folder of all tasks."""

    servers: Servers

    @classmethod
    def of(cls, task: Task, data: Path, servers: Servers, *, short: bool = False) -> "Play":
        """Make what the task reads, unless it is there."""
        rows = task.few if short else task.rows
        play = cls(task=task, rows=rows, data=data, servers=servers)
        if not play.given.exists():
            draft = data / f"rows-{os.getpid()}"
            draft.mkdir()
            task.make(draft, rows)
            draft.rename(play.given)
        if task.name not in servers.shared:
            task.share(servers, play.given, rows)
            servers.shared.add(task.name)
        return play

    @property
    def given(self) -> Path:
        return self.data / f"{self.task.name}-{self.rows}"

    def turn(self, system: str, kill: Kill | None = None) -> Turn:
        """One run in a place of its own; with ``kill`` it and its children are killed, and it is run again as a user
        would.

        Raises:
            PlayError: It does not come to its end.
        """
        with self._place(system) as place:
            if self.task.nights == 2:
                self._finished(place, 1, self._run(place, 1))
                self.task.change(place)
            ended = [self._run(place, self.task.nights, kill=kill)]
            was_killed = ended[0].exit_code == -signal.SIGKILL
            while ended[-1].exit_code and was_killed and len(ended) < MOST_RUNS:
                ended.append(self._run(place, self.task.nights, again=_resumed(ended[0].output)))
            self._finished(place, self.task.nights, ended[-1])
            return Turn(
                seconds=sum(each.seconds for each in ended),
                peak_bytes=max(each.peak_bytes for each in ended),
                judgement=self._judge(place),
                killed_after_s=kill.after_s if kill is not None and was_killed else None,
                runs=len(ended),
            )

    @contextmanager
    def _place(self, system: str) -> Iterator[Place]:
        folder = Path(tempfile.mkdtemp(prefix="run-", dir=self.data))
        own = folder.name.replace("-", "_").lower()
        place = Place(
            system=system,
            folder=folder,
            data=self.given,
            rows=self.rows,
            servers=self.servers,
            database=self.task.source or own,
        )
        self.task.begin(place)
        try:
            yield place
        finally:
            self.task.end(place)
            shutil.rmtree(folder, ignore_errors=True)

    def _run(self, place: Place, night: int, *, kill: Kill | None = None, again: Sequence[str] = ()) -> Ended:
        environment = place.environment(self.task.given(place, night))
        command = [*_command(self.task.program(place.system), place.system, self.data), *again]
        log = place.folder / f"log-{len(list(place.folder.glob('log-*')))}"
        return run(command, environment, log, kill)

    def _finished(self, place: Place, night: int, ended: Ended) -> None:
        if ended.exit_code:
            what = f"{self.task.name} of {place.system}, run {night},"
            raise PlayError(f"{what} ended with {ended.exit_code}:\n{ended.output[-3000:]}")

    def _judge(self, place: Place) -> Judgement:
        attached = place.output if place.output.is_file() else None
        return judge(self.task.expected(place), self.task.found(place), attached)


def _command(program: Path, system: str, data: Path) -> list[str]:
    if system == DLT:
        return [str(peers.python_of_dlt(data)), str(program)]
    if program.suffix == ".py":
        return [sys.executable, str(program)]
    return [sys.executable, "-m", "seatunnel_core.cli", "-c", str(program)]


def _resumed(output: str) -> Sequence[str]:
    """What the killed command printed to be added; nothing if it was killed before, and it is typed as it was."""
    found = re.search(r" (-r) (\d+)", output)
    return found.groups() if found else ()


def run(command: Sequence[str], environment: Mapping[str, str], log: Path, kill: Kill | None = None) -> Ended:
    """Run a command to its end, or kill it with all that it started."""
    os.sync()  # what an earlier run left for the kernel to write would be written in this one's time
    began = time.perf_counter()
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, env=environment, cwd=PROGRAMS, start_new_session=True
        )
    has_ended = threading.Event()
    killer = threading.Thread(target=_kill_at, args=(kill, process.pid, log, has_ended))
    with process, watched(process) as tree:
        killer.start()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it ends, and can still be looked at
        seconds = time.perf_counter() - began
        has_ended.set()
        killer.join()
    text = log.read_text("utf-8", errors="replace")
    return Ended(seconds=seconds, peak_bytes=tree.peak_bytes, exit_code=process.returncode, output=text)


def _kill_at(kill: Kill | None, session: int, log: Path, has_ended: threading.Event) -> None:
    if kill is not None and kill.wait(log, has_ended):
        _kill(session)


def _kill(session: int) -> None:
    """All processes at once, as when the machine loses its power; what they started meanwhile, too."""
    while left := processes(session):
        for each in left:
            try:
                os.kill(each.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
