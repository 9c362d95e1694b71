"""A host of an agent: found again or started, asked, and ended. All calls block; one thread at a time."""

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

from seatunnel_core import stored
from seatunnel_core.control.private_files import open_private, private_folder
from seatunnel_core.errors import StoredValueError
from seatunnel_core.server.agent.node_config import NodeConfig
from seatunnel_core.server.errors import HostError
from seatunnel_core.server.host.protocol import HostStatus, host_sockets
from seatunnel_core.server.state.records import SHARED, JobRecord

logger = logging.getLogger("seatunnel.cluster")

ANSWER_S = 5.0
"""So long a host may take to answer an order."""

SILENT_S = 20.0
"""A host that has not answered for so long is killed, and its jobs go on in another one."""

LEAVE_S = 30.0
"""A host that was told to leave and is still there after so long is killed."""

STARTING_S = 120.0
"""A host that does not listen so long after its start is killed."""


class HostProcess:
    """One host of a member.

    Args:
        config: of the node.
        address: of the member, by which its hosts are found again.
        name: ``SHARED``, or the id of the job that has the host for itself.
        spark: what a host is told of the Spark that it runs on.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        config: NodeConfig,
        address: str,
        name: str = SHARED,
        *,
        spark: Callable[[], Sequence[str]] = list,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self.boot = ""
        """By which the process differs from every other one of that name."""

        self.pid = 0
        """Of the host; 0 while there is none."""

        self.term = 0
        """The highest term that a host which was adopted had seen by then."""

        self.on_end: Callable[[str], object] = lambda _boot: None
        """Called with the boot of a host that ended by itself, or is killed because it does not work, before ``pid``
        says so."""

        self._config = config
        self._spark = spark
        self._address = address
        self._clock = clock
        self._child: subprocess.Popen[bytes] | None = None
        self._path: Path | None = None
        self._connection: socket.socket | None = None
        self._answered_at = clock()
        self._started_at = clock()
        self._leaving_since: float | None = None
        self._seen: tuple[int, HostStatus] | None = None
        """The newest status that it gave, and its number."""

    def adopt(self, pid: int, path: Path) -> bool:
        """Take a host that an earlier agent of this member has left, and return whether it answers.

        One that does not is killed: nobody knows what it does.
        """
        self.pid, self._path = pid, path
        try:
            answer = self.ask({"do": "hello"}, timeout_s=2.0)
            self.name, self.boot = stored.text(answer, "name"), stored.text(answer, "boot")
            self.term = stored.number(answer, "term")
        except (HostError, StoredValueError) as error:
            logger.warning("a host of an earlier agent does not answer, and is killed: %s", error)
            self.kill()
            return False
        logger.info("adopted the host %d of an earlier agent", pid)
        self._answered_at = self._clock()
        return True

    def start(self, boot: str, job: JobRecord | None = None) -> None:
        """Start a host in a session of its own, which outlives this process.

        Args:
            boot: of the process.
            job: which has the host for itself. It goes through a pipe: its options for Spark may hold secrets.
        """
        config = self._config
        private_folder(config.logs)
        command = [sys.executable, "-m", "seatunnel_core.server.host", "--cluster", config.cluster]
        command += ["--address", self._address, "--slots", str(config.slots), "--logs", str(config.logs)]
        command += self._spark()
        command += ["--offered", str(config.offered), "--name", self.name, "--boot", boot]
        if config.engine_file is not None:
            command += ["--engine-config", str(config.engine_file)]
        with open_private(config.logs / "seatunnel-engine-host.log") as log, tempfile.TemporaryFile() as told:
            if job is not None:
                told.write(job.to_bytes() + b"\n")
                told.seek(0)
            self._child = subprocess.Popen(command, stdin=told, stdout=log, stderr=log, start_new_session=True)
        self.boot, self.pid, self._path, self._leaving_since = boot, self._child.pid, None, None
        self._started_at = self._answered_at = self._clock()
        logger.info("started the host %d%s", self.pid, f" of the job {self.name}" if self.name else "")

    def status(self, term: int) -> HostStatus | None:
        """Return what the host reports; ``None`` while it starts, does not answer, or is gone.

        A host that is gone is forgotten (``pid`` is 0), one that has been silent for too long is killed.
        """
        if not self.pid:
            return None
        if not self.is_alive():
            logger.warning("the host %d is gone", self.pid)
            self.on_end(self.boot)
            self._forget()
            return None
        if self._leaving_since is not None and self._clock() - self._leaving_since > LEAVE_S:
            logger.warning("the host %d does not end, and is killed", self.pid)
            self.kill()
            return None
        if self._path is None:
            self._path = host_sockets(self._config.cluster, self._address).get(self.pid)
            if self._path is None:
                if self._clock() - self._started_at > STARTING_S:
                    logger.warning("the host %d does not listen after %.0f s, and is killed", self.pid, STARTING_S)
                    self.on_end(self.boot)
                    self.kill()
                return None
        try:
            found = self._asked_status(term)
        except (HostError, StoredValueError, ValueError) as error:
            logger.warning("the host %d gives no status: %s", self.pid, error)
            if self._clock() - self._answered_at > SILENT_S:
                self.on_end(self.boot)
                self.kill()
            return None
        self._answered_at = self._clock()
        return found

    def _asked_status(self, term: int) -> HostStatus:
        """Ask how the host stands; one that stands as before says no more than that."""
        seen = self._seen
        answer = self.ask({"do": "status", "term": term} | ({} if seen is None else {"seen": seen[0]}))
        if seen is not None and "unchanged" in answer:
            return seen[1]
        self._seen = stored.number(answer, "number"), HostStatus.from_record(answer)
        return self._seen[1]

    def ask(self, request: Mapping[str, Any], *, timeout_s: float = ANSWER_S) -> Any:
        """Return the host's answer.

        Raises:
            HostError: it refuses, or does not answer in time.
        """
        try:
            line = self._exchange(json.dumps(request).encode() + b"\n", timeout_s)
            answer = stored.parse(line)
        except (OSError, StoredValueError) as error:
            self._disconnect()
            raise HostError(f"the host {self.pid} does not answer: {error}") from error
        if "error" in answer:
            raise HostError(stored.text(answer, "error"))
        return stored.member(answer, "answer")

    def _exchange(self, line: bytes, timeout_s: float) -> bytes:
        if self._connection is None:
            if self._path is None:
                raise ConnectionError("it does not listen yet")
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
                raise ConnectionError("it closed the connection")
            received += part
        return bytes(received)

    def is_alive(self) -> bool:
        """Return whether the process of the host is there."""
        if self._child is not None:
            return self._child.poll() is None
        return self.pid != 0 and _is_host(self.pid)

    def kill(self) -> None:
        """Kill the host at once. Its jobs go on from their checkpoints in another one."""
        self._disconnect()
        if self.pid and (self._child is not None or _is_host(self.pid)):
            _kill_with_group(self.pid)
        self._forget()

    def _forget(self) -> None:
        self._disconnect()
        if self._child is not None:
            _kill_with_group(self.pid)  # its JVM, if that hangs; the number is still that of the child
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(5)
        for pid, path in host_sockets(self._config.cluster, self._address).items():
            if pid == self.pid:
                with contextlib.suppress(OSError):
                    path.unlink()
        self._child, self._path, self.pid, self._seen = None, None, 0, None

    def begin_to_leave(self, term: int) -> None:
        """Have the host stop its jobs after a last checkpoint each, and end. ``status`` kills it if it stays."""
        if self._leaving_since is None:
            self._leaving_since = self._clock()
            try:
                self.ask({"do": "leave", "term": term})
            except HostError as error:
                logger.warning("%s", error)
                self.kill()

    def leave(self, term: int, patience_s: float) -> None:
        """Have the host leave, and wait until it has; kill it when it takes too long."""
        self.begin_to_leave(term)
        until = self._clock() + patience_s
        while self.is_alive() and self._clock() < until:
            time.sleep(0.05)
        self.kill()

    def let_go(self) -> None:
        """Leave the host to a later agent."""
        self._disconnect()
        if self._child is not None:
            self._child.returncode = 0  # it is nobody's child any more, and Popen need not warn that it still runs

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _kill_with_group(pid: int) -> None:
    """Kill a host with its JVM: a JVM that hangs or stands still does not notice the end of its host."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if pid != os.getpgid(0):  # a host leads a group of its own
            os.killpg(pid, signal.SIGKILL)


def _is_host(pid: int) -> bool:
    """Return whether a process is a host, and not another one that has its number now.

    If that cannot be read, for want of descriptors say, the process counts as one as long as it exists.
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
