"""Creation of the Java class archive that Spark's JVM loads at every start.

A JVM spends most of its start reading about ten thousand classes from jars. An archive (class-data sharing) contains
these classes parsed and linked, so Spark starts in about half the time. An archive belongs to one Java installation and
one class path: its name is derived from both, and a JVM ignores an archive that does not match.

The first command on a machine starts Spark without an archive, and leaves a process running that creates the archive
with the lowest priority. ``python -m seatunnel_core.spark.starting.class_archive`` creates it immediately.
"""

import fcntl
import os
import signal
import sys
import threading
from pathlib import Path

from seatunnel_core.spark.starting import session
from seatunnel_core.spark.starting.archived_classes import CHECKED, ClassArchive, class_archive
from seatunnel_core.spark.starting.java import find_java
from seatunnel_core.spark.starting.settings import SparkSettings, cache_folder

_ARCHIVES_KEPT = 3
_MADE_WITHIN_S = 140.0
"""Time limit for an attempt, in seconds. Spark may wait forever for a process that cannot start."""

_ENDS_WITHIN_S = 120.0
_LOWEST_PRIORITY = 19


def make(archive: ClassArchive, cache: Path) -> None:
    """Start Spark, load a job's classes, and store the archive, unless it exists or another process is creating it."""
    folder = archive.file.parent
    folder.mkdir(parents=True, exist_ok=True)
    with open(archive.file.with_suffix(".lock"), "wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        if archive.file.exists():
            return
        archive.log.write_bytes(b"")
        draft = archive.file.with_suffix(".draft")
        draft.unlink(missing_ok=True)
        _fill(archive, draft, cache)
        with open(draft, "rb") as written:
            os.fsync(written.fileno())  # a JVM that maps a truncated file crashes
        draft.replace(archive.file)
        for old in sorted(folder.glob("classes-*.jsa"), key=lambda file: file.stat().st_mtime)[:-_ARCHIVES_KEPT]:
            for file in (old, old.with_suffix(".log"), old.with_suffix(".lock")):
                file.unlink(missing_ok=True)


def _fill(archive: ClassArchive, draft: Path, cache: Path) -> None:
    settings = SparkSettings(
        options={"spark.master": "local[2]"},
        java_options=(CHECKED, f"-XX:ArchiveClassesAtExit={draft}"),
        log_file=archive.log,
        cache=cache,
        adopt=False,
    )
    running = session.start(settings)
    java_process = running.context._gateway.proc
    running.context.addJobTag("class-archive")
    assert running.context.parallelize(range(2), 2).mapPartitionsWithIndex(lambda _, rows: rows).collect() == [0, 1]
    session.stop(running)
    java_process.stdin.close()  # the JVM exits and writes the archive
    java_process.wait(_ENDS_WITHIN_S)


def _abandon() -> None:
    """End this process, Spark and all processes that it started."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)  # the JVM ends when its standard input does


def main() -> int:
    """Create the archive for this machine's Java and PySpark, and print its path."""
    os.nice(_LOWEST_PRIORITY)
    limit = threading.Timer(_MADE_WITHIN_S, _abandon)
    limit.daemon = True
    limit.start()
    cache = cache_folder(os.environ)
    archive = class_archive(find_java(os.environ, cache), cache, os.environ)
    if archive is not None:
        make(archive, cache)
    sys.stdout.write(f"{archive.file if archive is not None else 'archives are not used'}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
