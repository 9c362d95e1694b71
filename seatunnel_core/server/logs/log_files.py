"""Retention and rotation of a node's log files. Job logs are kept as long as the job history."""

import asyncio
import contextlib
import logging
import re
import shutil
import stat
import time
from collections.abc import Callable
from pathlib import Path

from attrs import define, field

from seatunnel_core.control.private_files import open_private

logger = logging.getLogger("seatunnel.cluster")

SWEEP_S = 60.0

MOST_JOB_LOGS = 10_000
"""Maximum number of job logs, equal to the size of the history. The oldest are removed first."""

LARGEST_LOG = 64 << 20
"""Size in bytes above which a process log is rotated; one rotated file is kept."""

_OF_JOB = re.compile(r"job-.+\.log")
_OF_SPARK = re.compile(r"spark-(\d+)\.log", re.ASCII)
_OF_PROCESS = re.compile(r"seatunnel-engine-.+\.log")


@define(eq=False, repr=False)
class LogFiles:
    """Retention of job logs (``keep_s`` after their last line) and rotation of process logs above ``largest`` bytes."""

    _folder: Path
    _keep_s: float
    _most: int = field(default=MOST_JOB_LOGS, kw_only=True)
    _largest: int = field(default=LARGEST_LOG, kw_only=True)
    _clock: Callable[[], float] = field(default=time.time, kw_only=True)

    async def watch(self) -> None:
        """Sweep periodically until cancelled."""
        while True:
            try:
                await asyncio.get_running_loop().run_in_executor(None, self.sweep)
            except OSError as error:
                logger.warning("cannot remove old logs: %s", error)
            await asyncio.sleep(SWEEP_S)

    def sweep(self) -> None:
        """Remove old logs of jobs and of ended worker processes, and rotate large ones. Blocks."""
        of_jobs: list[tuple[float, Path]] = []
        for path in self._folder.iterdir() if self._folder.is_dir() else ():
            with contextlib.suppress(FileNotFoundError):  # several nodes may share the folder
                found = path.lstat()
                if not stat.S_ISREG(found.st_mode):
                    continue
                if _OF_JOB.fullmatch(path.name) or _is_of_dead_host(path.name):
                    of_jobs.append((found.st_mtime, path))
                elif _OF_PROCESS.fullmatch(path.name) and found.st_size > self._largest:
                    self._set_aside(path)
        of_jobs.sort(reverse=True)
        oldest = self._clock() - self._keep_s
        for number, (written_at, path) in enumerate(of_jobs):
            if written_at < oldest or number >= self._most:
                path.unlink(missing_ok=True)

    def _set_aside(self, path: Path) -> None:
        """Rotate a log by copying and truncating it, because the writer keeps the file open in append mode."""
        with open_private(path, "r+b") as large:
            with open_private(path.with_name(f"{path.name}.1"), "wb") as kept:
                shutil.copyfileobj(large, kept)
            large.truncate(0)
        logger.info("rotated %s, which had more than %d bytes", path, self._largest)


def _is_of_dead_host(name: str) -> bool:
    """Return True if this is a Spark log of a worker process that has ended."""
    host = _OF_SPARK.fullmatch(name)
    return host is not None and not Path("/proc", host[1]).exists()
