"""Supervised child process of an agent: a JVM that is restarted when it ends."""

import contextlib
import importlib.util
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from attrs import define, field

from seatunnel_core.control.private_files import open_private, private_folder
from seatunnel_core.errors import PlatformError
from seatunnel_core.installing import install_command
from seatunnel_core.spark.starting.java import find_java
from seatunnel_core.spark.starting.session import log4j_file
from seatunnel_core.spark.starting.settings import cache_folder

logger = logging.getLogger("seatunnel.cluster")

LEAST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0
"""Minimum and maximum restart delay, in seconds. The delay doubles each time the process ends soon after its start."""

STEADY_S = 60.0
"""Run time after which the restart delay is reset, in seconds."""

_END_S = 5.0
_MEMORY = "192m"
_FLAGS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""JVM flags for processes that do not move rows: small heap, less compilation, no garbage collector threads."""

BOUND = str(Path(__file__).with_name("bound.py"))
"""Path of the program that binds a process to its parent."""


@define(eq=False, repr=False)
class Child:
    """Supervised Spark process.

    Call ``supervise`` often, from one thread. The process is killed when that thread ends.
    """

    _name: str
    _arguments: Callable[[], Sequence[str]]
    _log: Path
    _environment: Mapping[str, str]
    _clock: Callable[[], float] = field(default=time.monotonic, kw_only=True)
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _started_at: float = field(default=0.0, init=False)
    _start_at: float = field(default=0.0, init=False)
    _pause_s: float = field(default=LEAST_PAUSE_S, init=False)
    deaths: int = field(default=0, init=False)
    """Number of times in a row that the process ended soon after its start."""

    @property
    def pid(self) -> int:
        """Process ID; 0 if there is no process."""
        return 0 if self._process is None else self._process.pid

    def supervise(self) -> None:
        """Start the child if it is not running, after the restart pause."""
        now = self._clock()
        if self._process is not None:
            code = self._process.poll()
            if code is None:
                if self.deaths and now - self._started_at > STEADY_S:
                    self.deaths, self._pause_s = 0, LEAST_PAUSE_S
                return
            logger.warning("%s (process %d) ended with exit code %d; restart in %.1f s; log file: %s", self._name,
                           self.pid, code, self._pause_s, self._log)  # fmt: skip
            self._process, self._start_at = None, now + self._pause_s
            self._pause_s, self.deaths = min(2 * self._pause_s, LONGEST_PAUSE_S), self.deaths + 1
        if now >= self._start_at:
            self._start()

    def _start(self) -> None:
        private_folder(self._log.parent)
        command = [sys.executable, "-I", "-S", BOUND, str(os.getpid()), *spark_class(), *self._arguments()]
        with open_private(self._log) as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=jvm_environment(self._environment),
                start_new_session=True,
            )
        self._started_at = self._clock()
        logger.info("started %s (%d)", self._name, self.pid)

    def kill(self) -> None:
        """Kill the child, which also ends its executors, and wait until it has ended."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def terminate(self) -> None:
        """Send SIGTERM to the child. ``end`` waits for it."""
        if self._process is not None:
            self._process.terminate()

    def end(self) -> None:
        """Terminate the child and wait until it has ended. Kill it if it takes too long."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_END_S)
        process.kill()
        process.wait()


def spark_class() -> list[str]:
    """Return the command that starts a Spark class from the wheel."""
    return [str(spark_home() / "bin" / "spark-class")]


def spark_home() -> Path:
    """Return the folder of the pyspark wheel, without importing it; raise ``PlatformError`` if it is not installed."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise PlatformError(f"Spark is not installed: {install_command('spark')}")
    return Path(spec.origin).parent


def jvm_environment(more: Mapping[str, str], environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment of a Spark JVM. Its web page listens on loopback."""
    cache = cache_folder(environment)
    flags = f"{_FLAGS} -Dlog4j2.configurationFile={log4j_file(cache).as_uri()}"
    inherited = {key: value for key, value in environment.items() if key not in ("PYTHONPATH", "PYSPARK_SUBMIT_ARGS")}
    return {
        **inherited,
        "JAVA_HOME": str(find_java(environment, cache).home),
        "SPARK_HOME": str(spark_home()),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": _MEMORY,
        "SPARK_DAEMON_JAVA_OPTS": flags,
        **more,
    }
