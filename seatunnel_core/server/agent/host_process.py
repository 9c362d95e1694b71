"""Handle of a worker process: starts, adopts, queries and ends it. All calls block; use one thread at a time."""

import contextlib
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import Factory, define, field

from seatunnel_core import stored
from seatunnel_core.control.private_files import open_private, private_folder
from seatunnel_core.errors import StoredValueError
from seatunnel_core.server.agent.node_config import NodeConfig
from seatunnel_core.server.errors import HostError
from seatunnel_core.server.host.protocol import HostStatus, host_sockets
from seatunnel_core.server.state.records import SHARED, JobRecord

logger = logging.getLogger("seatunnel.cluster")

ANSWER_S = 5.0
"""Time limit for the response to an order, in seconds."""

SILENT_S = 20.0
"""Time without a response after which a worker process is killed, in seconds. Its jobs resume in another process."""

LEAVE_S = 30.0
"""Time limit for an orderly shutdown, in seconds, after which the process is killed."""

STARTING_S = 120.0
"""Time limit for a new process to listen, in seconds, after which it is killed."""


@define(eq=False, repr=False)
class HostProcess:
    """A worker process of a member; ``name`` is ``SHARED``, or the ID of the job of a dedicated process."""

    _config: NodeConfig
    _address: str
    name: str = SHARED
    _spark: Callable[[], Sequence[str]] = field(default=list, kw_only=True)
    _clock: Callable[[], float] = field(default=time.monotonic, kw_only=True)
    boot: str = field(default="", init=False)
    """ID of this process, unique among processes of the same name."""

    pid: int = field(default=0, init=False)
    """Process ID; 0 while there is no process."""

    term: int = field(default=0, init=False)
    """Highest term known to the process when it was adopted."""

    on_end: Callable[[str], object] = field(default=lambda _boot: None, init=False)
    """Callback that receives the boot ID of a process that exited by itself or was killed because it was faulty."""

    _child: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _path: Path | None = field(default=None, init=False)
    _connection: socket.socket | None = field(default=None, init=False)
    _answered_at: float = field(init=False, default=Factory(lambda self: self._clock(), takes_self=True))
    _started_at: float = field(init=False, default=Factory(lambda self: self._clock(), takes_self=True))
    _leaving_since: float | None = field(default=None, init=False)
    _seen: tuple[int, HostStatus] | None = field(default=None, init=False)
    """Number and content of the last received status."""

    def adopt(self, pid: int, path: Path) -> bool:
        """Adopt a process of an earlier agent. If it does not respond, kill it and return False."""
        self.pid, self._path = pid, path
        try:
            answer = self.ask({"do": "hello"}, timeout_s=2.0)
            self.name, self.boot = stored.text(answer, "name"), stored.text(answer, "boot")
            self.term = stored.number(answer, "term")
        except (HostError, StoredValueError) as error:
            logger.warning("killing a worker process of an earlier agent, because it does not respond: %s", error)
            self.kill()
            return False
        logger.info("adopted worker process %d of an earlier agent", pid)
        self._answered_at = self._clock()
        return True

    def start(self, boot: str, job: JobRecord | None = None) -> None:
        """Start a process in a new session, which outlives this agent.

        The job of a dedicated process is sent through a pipe, because its Spark options may contain secrets.
        """
        config = self._config
        private_folder(config.logs)
        command = [sys.executable, "-m", "seatunnel_core.server.host", f"--cluster={config.cluster}"]
        command += [f"--address={self._address}", f"--slots={config.slots}", f"--logs={config.logs}"]
        command += self._spark()
        command += [f"--offered={config.offered}", f"--name={self.name}", f"--boot={boot}"]  # may begin with "-"
        if config.engine_file is not None:
            command.append(f"--engine-config={config.engine_file}")
        with open_private(config.logs / "seatunnel-engine-host.log") as log, tempfile.TemporaryFile() as told:
            if job is not None:
                told.write(job.to_bytes() + b"\n")
                told.seek(0)
            self._child = subprocess.Popen(command, stdin=told, stdout=log, stderr=log, start_new_session=True)
        self.boot, self.pid, self._path, self._leaving_since = boot, self._child.pid, None, None
        self._started_at = self._answered_at = self._clock()
        logger.info("started worker process %d%s", self.pid, f" of job {self.name}" if self.name else "")

    def status(self, term: int) -> HostStatus | None:
        """Return the status of the process; ``None`` if it is starting, does not respond or has ended.

        ``pid`` becomes 0 if it has ended. A process that has been silent for too long is killed.
        """
        if not self.pid:
            return None
        if not self.is_alive():
            logger.warning("worker process %d has ended", self.pid)
            self.on_end(self.boot)
            self._forget()
            return None
        if self._leaving_since is not None and self._clock() - self._leaving_since > LEAVE_S:
            logger.warning("killing worker process %d, because it did not end in time", self.pid)
            self.kill()
            return None
        if self._path is None:
            self._path = host_sockets(self._config.cluster, self._address).get(self.pid)
            if self._path is None:
                if self._clock() - self._started_at > STARTING_S:
                    logger.warning(
                        "killing worker process %d, because it is not listening after %.0f s", self.pid, STARTING_S
                    )
                    self.on_end(self.boot)
                    self.kill()
                return None
        try:
            found = self._asked_status(term)
        except (HostError, StoredValueError, ValueError) as error:
            logger.warning("no status from worker process %d: %s", self.pid, error)
            if self._clock() - self._answered_at > SILENT_S:
                self.on_end(self.boot)
                self.kill()
            return None
        self._answered_at = self._clock()
        return found

    def _asked_status(self, term: int) -> HostStatus:
        """Request the status. The process omits the status if it has not changed."""
        seen = self._seen
        answer = self.ask({"do": "status", "term": term} | ({} if seen is None else {"seen": seen[0]}))
        if seen is not None and "unchanged" in answer:
            return seen[1]
        self._seen = stored.number(answer, "number"), HostStatus.from_record(answer)
        return self._seen[1]

    def ask(self, request: Mapping[str, Any], *, timeout_s: float = ANSWER_S) -> Any:
        """Send a request and return the response. Raise HostError if it is rejected or times out."""
        try:
            line = self._exchange(json.dumps(request).encode() + b"\n", timeout_s)
            answer = stored.parse(line)
        except (OSError, StoredValueError) as error:
            self._disconnect()
            raise HostError(f"worker process {self.pid} does not respond: {error}") from error
        if "error" in answer:
            raise HostError(stored.text(answer, "error"))
        return stored.member(answer, "answer")

    def _exchange(self, line: bytes, timeout_s: float) -> bytes:
        if self._connection is None:
            if self._path is None:
                raise ConnectionError("it is not listening yet")
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.settimeout(timeout_s)
            try:
                connection.connect(str(self._path))
            except OSError:
                connection.close()
                raise
            self._connection = connection
        self._connection.settimeout(timeout_s)
        self._connection.sendall(line)
        received = bytearray()
        while not received.endswith(b"\n"):
            part = self._connection.recv(1 << 20)
            if not part:
                raise ConnectionError("the connection was closed")
            received += part
        return bytes(received)

    def is_alive(self) -> bool:
        """Return True if the process exists."""
        if self._child is not None:
            return self._child.poll() is None
        return self.pid != 0 and _is_host(self.pid)

    def kill(self) -> None:
        """Kill the process immediately. Its jobs resume from their checkpoints in another process."""
        self._disconnect()
        if self.pid and (self._child is not None or _is_host(self.pid)):
            _kill_with_group(self.pid)
        self._forget()

    def _forget(self) -> None:
        self._disconnect()
        if self._child is not None:
            _kill_with_group(self.pid)  # includes its JVM, which may hang; the pid cannot be reused yet
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(5)
        for pid, path in host_sockets(self._config.cluster, self._address).items():
            if pid == self.pid:
                with contextlib.suppress(OSError):
                    path.unlink()
        self._child, self._path, self.pid, self._seen = None, None, 0, None

    def begin_to_leave(self, term: int) -> None:
        """Request an orderly shutdown with a final checkpoint of each job; ``status`` enforces the time limit."""
        if self._leaving_since is None:
            self._leaving_since = self._clock()
            try:
                self.ask({"do": "leave", "term": term})
            except HostError as error:
                logger.warning("%s", error)
                self.kill()

    def leave(self, term: int, patience_s: float) -> None:
        """Request an orderly shutdown and wait for it. Kill the process if it takes too long."""
        self.begin_to_leave(term)
        until = self._clock() + patience_s
        while self.is_alive() and self._clock() < until:
            time.sleep(0.05)
        self.kill()

    def let_go(self) -> None:
        """Close the connection without ending the process, so that a later agent can adopt it."""
        self._disconnect()
        if self._child is not None:
            self._child.returncode = 0  # keeps Popen from warning that the process still runs

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _kill_with_group(pid: int) -> None:
    """Kill a process together with its JVM: a hanging or suspended JVM does not notice that its parent has ended."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if pid != os.getpgid(0):  # a worker process leads its own process group
            os.killpg(pid, signal.SIGKILL)


def _is_host(pid: int) -> bool:
    """Return True if the process ID belongs to a worker process and has not been reused by another program.

    If this cannot be determined, for example because no file descriptors are free, return True for any existing
    process.
    """
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            command = file.read()
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            state = file.read().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError, IndexError):
        return False
    except OSError:
        return True
    return b"seatunnel_core.server.host" in command and state != "Z"
