"""A server as a process: its cache, its port, its start, its death."""

import contextlib
import fcntl
import os
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import pytest
from attrs import define, field

READY_WITHIN_S = 90.0


def cache_folder(name: str) -> Path:
    """Where what one kind of server needs is kept between runs, in the user's cache."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    folder = home / "seatunnel-tests" / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextlib.contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Several test processes build one at a time."""
    with open(folder / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def unavailable(reason: str) -> NoReturn:
    """A server cannot be had: a failure where servers are required, elsewhere a skip that is named at the end."""
    if os.environ.get("SEATUNNEL_SERVERS") == "required":
        pytest.fail(reason)
    pytest.skip(reason)


def require(*commands: str) -> None:
    """Each command is on PATH, or the test does not run."""
    missing = [command for command in commands if shutil.which(command) is None]
    if missing:
        unavailable(f"{' and '.join(missing)} not found on PATH")


def free_port() -> int:
    """One for a server that starts later. The system gives those that it draws itself, from 32,768 on, to any client in
    between, so it is drawn below them, by a source that no test seeds: two processes draw different ones."""
    while True:
        port = random.SystemRandom().randrange(10_000, 32_768)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def deaf_port() -> int:
    """One on which nobody listens, nor will while this process lives: it is bound, and left so."""
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    port = int(taken.getsockname()[1])
    taken.detach()
    return port


@define
class ServerProcess:
    """One process that can be killed and started again on the same data."""

    command: Sequence[str]
    ready: Callable[[], bool]
    """Whether it answers; may raise ``OSError`` while it does not."""

    log: Path
    environment: Mapping[str, str] = field(factory=dict)
    _process: subprocess.Popen[bytes] | None = field(init=False, default=None)

    def start(self) -> None:
        """Starts it and waits until it is ready; one that does not become ready is killed."""
        self.launch()
        try:
            self.wait_until_ready()
        except BaseException:
            self.kill()
            raise

    def launch(self) -> None:
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(
                self.command,
                env={**os.environ, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + READY_WITHIN_S
        while True:
            with contextlib.suppress(OSError):
                if self.ready():
                    return
            ended = self._process is None or self._process.poll() is not None
            if ended or time.monotonic() > deadline:
                end = self.log.read_text(errors="replace")[-4_000:] if self.log.exists() else ""
                raise RuntimeError(f"{self.command[0]} {'ended' if ended else 'is not ready'}; its log ends:\n{end}")
            time.sleep(0.05)

    def kill(self, number: int = signal.SIGKILL) -> bool:
        """``kill -9`` unless said otherwise, and waits until it is gone; whether it died of it."""
        if self._process is None or self._process.poll() is not None:
            return False
        os.killpg(self._process.pid, number)
        return self._process.wait() == -number

    @property
    def pid(self) -> int:
        """Of the process that was started last."""
        assert self._process is not None
        return self._process.pid

    def runs(self) -> bool:
        """Whether it is there."""
        return self._process is not None and self._process.poll() is None

    def pause(self) -> None:
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGCONT)

    def restart(self) -> None:
        """``kill -9``, and a start on the same data."""
        self.kill()
        self.start()
