"""The archive of Java's classes: what Spark's JVM loads at every start, parsed and linked once per machine.

A JVM spends most of its start on reading some ten thousand classes out of jars. With an archive of them (class-data
sharing) Spark starts in about half the time. An archive belongs to one Java and one class path, so its name tells both,
and a JVM that finds something else than it was made with leaves it aside.

Nobody waits for it: the first command on a machine starts as Spark does without one, and leaves a process behind that
makes it, with the lowest priority. ``python -m seatunnel_core.spark.class_archive`` makes it at once.
"""

import contextlib
import fcntl
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from attrs import frozen

from seatunnel_core.spark.java import Java, find_java

FOLDER = "SEATUNNEL_CLASS_ARCHIVES"
"""Of the environment: the folder of archives, instead of the user's cache folder; ``off`` makes and uses none."""

CHOOSING = ("-Xshare", "-XX:SharedArchiveFile", "-XX:ArchiveClassesAtExit")
"""Flags of users who see to archives themselves."""

_ARCHIVES_KEPT = 3
_TRIED_AGAIN_AFTER_S = 3600.0
"""Not much later: a JVM that was killed while it started took its archive with it, without being its fault."""

_ENDS_WITHIN_S = 120.0
_LOWEST_PRIORITY = 19
_CHECKED = "-XX:+VerifySharedSpaces"
_JAVA = 17
_EDITION = 1
"""Counted up when ``_make`` loads other classes."""


@frozen
class ClassArchive:
    """Where the archive for one Java and one PySpark lies, or is to lie."""

    file: Path

    def flags(self) -> tuple[str, ...]:
        """For a JVM; none as long as there is no archive. It compares checksums before it uses one: a wrong bit on the
        disk would become a wrong class."""
        if not self.file.exists():
            return ()
        with contextlib.suppress(OSError):
            os.utime(self.file)  # when it was used last: old ones are found by it
        return (_CHECKED, "-Xshare:auto", f"-XX:SharedArchiveFile={self.file}")

    @property
    def log(self) -> Path:
        """What was said when it was made; without an archive beside it, why there is none."""
        return self.file.with_suffix(".log")


def class_archive(java: Java, cache: Path, environ: Mapping[str, str]) -> ClassArchive | None:
    """The archive for a Java and the PySpark of this process; ``None`` where there is to be none.

    There is one for Java 17 only. Spark's launcher names one jar twice in the class path; Java 21 forgets the second
    when it makes an archive, and then refuses that for being made with another path.
    """
    chosen = environ.get(FOLDER, "")
    folder = Path(chosen) if chosen else cache
    spark = _spark_home(environ)
    if java.major != _JAVA or chosen == "off" or ":" in str(folder) or spark is None:
        return None
    identity = repr((_EDITION, java.version, _stamp(java.home / "lib" / "modules"), _stamp(spark / "jars")))
    return ClassArchive(folder / f"classes-{hashlib.sha256(identity.encode()).hexdigest()[:12]}.jsa")


def make_in_background(archive: ClassArchive) -> None:
    """Leave a process behind that makes it, unless it is there or could not be made a short while ago."""
    folder = archive.file.parent
    if archive.file.exists() or not os.access(folder, os.W_OK):
        return
    with contextlib.suppress(OSError):
        if time.time() - archive.log.stat().st_mtime < _TRIED_AGAIN_AFTER_S:
            return
    maker = subprocess.Popen(
        [sys.executable, "-m", __name__],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    maker.returncode = 0  # nobody waits for it, and Popen need not warn that it still runs


def make(archive: ClassArchive, cache: Path) -> None:
    """Start Spark, load what a job loads, and keep it; nothing is done while another process makes the same.

    Raises:
        PlatformError: Spark does not start.
        OSError: the folder cannot be written to.
    """
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
            os.fsync(written.fileno())  # a JVM that maps a file with an end missing dies of it
        draft.replace(archive.file)
        for old in sorted(folder.glob("classes-*.jsa"), key=_last_used)[:-_ARCHIVES_KEPT]:
            for file in (old, old.with_suffix(".log"), old.with_suffix(".lock")):
                file.unlink(missing_ok=True)


def _fill(archive: ClassArchive, draft: Path, cache: Path) -> None:
    from seatunnel_core.spark import session

    settings = session.SparkSettings(
        options={"spark.master": "local[2]"},
        java_options=(_CHECKED, f"-XX:ArchiveClassesAtExit={draft}"),
        log_file=archive.log,
        cache=cache,
        adopt=False,
    )
    running = session.start(settings)
    java_process = running.context._gateway.proc
    running.context.addJobTag("class-archive")
    assert running.context.parallelize(range(2), 2).mapPartitionsWithIndex(lambda _, rows: rows).collect() == [0, 1]
    session.stop(running)
    java_process.stdin.close()  # it ends by that, and writes the archive
    java_process.wait(_ENDS_WITHIN_S)


def _spark_home(environ: Mapping[str, str]) -> Path | None:
    """As PySpark looks for it."""
    if environ.get("SPARK_HOME"):
        return Path(environ["SPARK_HOME"])
    pyspark = find_spec("pyspark")
    return Path(pyspark.origin).parent if pyspark is not None and pyspark.origin else None


def _stamp(path: Path) -> tuple[str, int, int]:
    try:
        stat = path.stat()
    except OSError:
        return str(path), 0, 0
    return str(path), stat.st_size, stat.st_mtime_ns


def _last_used(file: Path) -> float:
    return file.stat().st_mtime


def main() -> int:
    """Make the archive of this machine's Java and PySpark, and say where it is."""
    from seatunnel_core.spark.session import cache_folder

    os.nice(_LOWEST_PRIORITY)
    cache = cache_folder(os.environ)
    archive = class_archive(find_java(os.environ, cache), cache, os.environ)
    if archive is not None:
        make(archive, cache)
    sys.stdout.write(f"{archive.file if archive is not None else 'no archive is to be made'}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
