"""The location of the archive of Java's classes that Spark's JVM loads at every start; ``class_archive`` makes it."""

import contextlib
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from attrs import frozen

from seatunnel_core.spark.starting.java import Java

FOLDER = "SEATUNNEL_CLASS_ARCHIVES"
"""The environment variable with the folder of archives, instead of the user's cache folder; ``off`` makes and uses
none."""

CHOOSING = ("-Xshare", "-XX:SharedArchiveFile", "-XX:ArchiveClassesAtExit")
"""Flags of users who deal with archives themselves."""

_TRIED_AGAIN_AFTER_S = 3600.0
"""How long after one attempt to make an archive the next one may follow. Not much longer: a start of Spark that was
killed removes the archive that it used, though nothing was wrong with that."""

CHECKED = "-XX:+VerifySharedSpaces"
_JAVA = 17
_EDITION = 1
"""A number that has to be increased when the maker loads other classes."""

_TEMPORARY = ("TMPDIR", "TEMP", "TMP")
"""Variables that name the temporary folder. It often ends with the command, and the maker outlives that."""

_MAKER = "seatunnel_core.spark.starting.class_archive"


@frozen
class ClassArchive:
    """The archive for one Java and one PySpark, whether it exists or not."""

    file: Path

    def flags(self) -> tuple[str, ...]:
        """Return the flags with which a JVM uses the archive; none as long as there is no archive.

        The JVM compares checksums before it uses one, because a wrong bit on the disk would become a wrong class.
        """
        if not self.file.exists():
            return ()
        with contextlib.suppress(OSError):
            os.utime(self.file)  # when it was used last: old ones are found by it
        return (CHECKED, "-Xshare:auto", f"-XX:SharedArchiveFile={self.file}")

    @property
    def log(self) -> Path:
        """The log of making the archive; without an archive beside it, it states why there is none."""
        return self.file.with_suffix(".log")


def class_archive(java: Java, cache: Path, environ: Mapping[str, str]) -> ClassArchive | None:
    """Return the archive for a Java and the PySpark of this process; ``None`` where there is to be none.

    There is one for Java 17 only. Spark's launcher names one jar twice in the class path; Java 21 forgets the second
    when it makes an archive, and then refuses the archive because it was made with another path.
    """
    chosen = environ.get(FOLDER, "")
    folder = Path(chosen) if chosen else cache
    spark = _spark_home(environ)
    if java.major != _JAVA or chosen == "off" or ":" in str(folder) or spark is None:
        return None
    identity = repr((_EDITION, java.version, _stamp(java.home / "lib" / "modules"), _stamp(spark / "jars")))
    return ClassArchive(folder / f"classes-{hashlib.sha256(identity.encode()).hexdigest()[:12]}.jsa")


def make_in_background(archive: ClassArchive) -> None:
    """Leave a process behind that makes the archive, unless it exists or was tried a short while ago."""
    folder = archive.file.parent
    if archive.file.exists() or not os.access(folder, os.W_OK):
        return
    with contextlib.suppress(OSError):
        if time.time() - archive.log.stat().st_mtime < _TRIED_AGAIN_AFTER_S:
            return
    maker = subprocess.Popen(
        [sys.executable, "-m", _MAKER],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name not in _TEMPORARY},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    maker.returncode = 0  # nobody waits for it, and Popen need not warn that it still runs


def _spark_home(environ: Mapping[str, str]) -> Path | None:
    """Return the home of Spark, where PySpark looks for it."""
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
