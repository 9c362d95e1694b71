"""Location of the Java class archive that Spark's JVM loads at every start; ``class_archive`` creates it."""

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
"""Environment variable for the folder of archives, by default in the user's cache; ``off`` disables archives."""

CHOOSING = ("-Xshare", "-XX:SharedArchiveFile", "-XX:ArchiveClassesAtExit")
"""JVM flags that show that the user manages class archives."""

_TRIED_AGAIN_AFTER_S = 3600.0
"""Minimum time between two attempts to create an archive. It is short because Spark, if killed during startup, removes
the archive that it used, even an intact one."""

CHECKED = "-XX:+VerifySharedSpaces"
_JAVA = 17
_EDITION = 1
"""Version of the archive's content. Increase it when the creator loads other classes."""

_TEMPORARY = ("TMPDIR", "TEMP", "TMP")
"""Environment variables for the temporary folder, which may be removed while the creator still runs."""

_MAKER = "seatunnel_core.spark.starting.class_archive"


@frozen
class ClassArchive:
    """Archive for a Java and a PySpark installation. Its file need not exist."""

    file: Path

    def flags(self) -> tuple[str, ...]:
        """Return the JVM flags for using the archive; empty if it does not exist.

        The flags make the JVM verify checksums first, because a flipped bit on the disk would corrupt a class.
        """
        if not self.file.exists():
            return ()
        with contextlib.suppress(OSError):
            os.utime(self.file)  # time of last use: old archives are removed by it
        return (CHECKED, "-Xshare:auto", f"-XX:SharedArchiveFile={self.file}")

    @property
    def log(self) -> Path:
        """Log of the archive's creation, which contains the reason for a failure."""
        return self.file.with_suffix(".log")


def class_archive(java: Java, cache: Path, environ: Mapping[str, str]) -> ClassArchive | None:
    """Return the archive for a Java installation and this process's PySpark; ``None`` if archives are not used.

    Archives are used with Java 17 only. Spark's launcher lists one jar twice in the class path. Java 21 removes the
    duplicate when it creates an archive, and later rejects the archive because the class path differs.
    """
    chosen = environ.get(FOLDER, "")
    folder = Path(chosen) if chosen else cache
    spark = _spark_home(environ)
    if java.major != _JAVA or chosen == "off" or ":" in str(folder) or spark is None:
        return None
    identity = repr((_EDITION, java.version, _stamp(java.home / "lib" / "modules"), _stamp(spark / "jars")))
    return ClassArchive(folder / f"classes-{hashlib.sha256(identity.encode()).hexdigest()[:12]}.jsa")


def make_in_background(archive: ClassArchive) -> None:
    """Start a detached process that creates the archive, unless it exists or was attempted recently."""
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
    maker.returncode = 0  # it is detached: suppress Popen's warning that it still runs


def _spark_home(environ: Mapping[str, str]) -> Path | None:
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
