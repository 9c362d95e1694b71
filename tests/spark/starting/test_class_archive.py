"""The archive of Java's classes: for whom there is one, that Spark starts with it, and that nothing needs it."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.errors import PlatformError
from seatunnel_core.spark.starting import session
from seatunnel_core.spark.starting.archived_classes import FOLDER, ClassArchive, class_archive, make_in_background
from seatunnel_core.spark.starting.java import Java, find_java
from seatunnel_core.spark.starting.settings import SparkSettings, cache_folder, jvm_flags

JAVA_17 = Java(home=Path("/jdk"), major=17, version="17.0.1")


def of(java: Java = JAVA_17, **environ: str) -> ClassArchive | None:
    return class_archive(java, Path("/cache"), environ)


def test_another_java_or_pyspark_has_another_one(tmp_path: Path) -> None:
    names = {
        of(),
        of(Java(home=Path("/jdk"), major=17, version="17.0.2")),
        of(Java(home=Path("/other"), major=17, version="17.0.1")),
        of(SPARK_HOME=str(tmp_path)),
    }
    assert len(names) == 4
    assert of() in names


def test_there_is_none_where_it_would_not_be_used() -> None:
    assert of(Java(home=Path("/jdk"), major=21, version="21.0.8")) is None
    assert of(**{FOLDER: "off"}) is None  # type: ignore[arg-type]
    assert of(**{FOLDER: "/a:b"}) is None  # type: ignore[arg-type]
    elsewhere = of(**{FOLDER: "/elsewhere"})  # type: ignore[arg-type]
    assert elsewhere is not None
    assert elsewhere.file.parent == Path("/elsewhere")


@pytest.mark.parametrize(
    "settings",
    [
        {"java_options": ("-Xshare:off",)},
        {"java_options": ("-XX:SharedArchiveFile=/mine.jsa",)},
        {"options": {"spark.driver.extraJavaOptions": "-XX:ArchiveClassesAtExit=/mine.jsa"}},
    ],
)
def test_the_users_own_archive_wins(tmp_path: Path, settings: dict[str, Any]) -> None:
    archive = ClassArchive(tmp_path / "classes-1.jsa")
    assert not any("classes-1" in flag for flag in jvm_flags(SparkSettings(), archive))
    archive.file.touch()
    assert f"-XX:SharedArchiveFile={archive.file}" in jvm_flags(SparkSettings(), archive)
    assert not any("classes-1" in flag for flag in jvm_flags(SparkSettings(**settings), archive))


@pytest.mark.parametrize(("failures", "kept"), [(1, False), (2, True)])
def test_an_archive_is_given_up_only_where_spark_starts_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failures: int, kept: bool
) -> None:
    """Spark itself is played: that no port is free, say, is no fault of the archive."""
    left = [OSError("it does not start")] * failures

    def launch(_conf: object, _log: Path) -> object:
        if left:
            raise left.pop()
        return object()

    monkeypatch.setenv(FOLDER, str(tmp_path))
    monkeypatch.setattr(session.gateway, "launch", launch)  # type: ignore[attr-defined]
    archive = class_archive(JAVA_17, tmp_path, os.environ)
    assert archive is not None
    archive.file.touch()
    monkeypatch.setattr(session, "find_java", lambda *_: JAVA_17)
    settings = SparkSettings(cache=tmp_path, log_file=tmp_path / "log", options={"spark.python.daemon.module": "mine"})
    for name in ("JAVA_HOME", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        monkeypatch.setenv(name, os.environ.get(name, ""))
    if kept:
        with pytest.raises(PlatformError, match="it does not start"):
            session._start_own(settings)
    else:
        session._start_own(settings)
    assert archive.file.exists() is kept


def test_a_machine_that_cannot_make_one_does_not_try_at_every_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The maker finds no Java, and its log stays."""
    monkeypatch.setenv(FOLDER, str(tmp_path))
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "no-spark"))
    java = find_java(os.environ, tmp_path)
    archive = class_archive(java, tmp_path, os.environ)
    if archive is None:
        pytest.skip(f"the maker would find Java {java.major} here, and makes archives of Java 17 only")
    make_in_background(archive)
    within = time.monotonic() + 60
    while not archive.log.exists():
        assert time.monotonic() < within, "nothing was started"
        time.sleep(0.05)
    tried = archive.log.stat().st_mtime_ns
    archive.log.touch()
    make_in_background(archive)
    assert not archive.file.exists()
    assert archive.log.stat().st_mtime_ns >= tried


PROGRAM = """
import sys
from pathlib import Path
from seatunnel_core.errors import PlatformError
from seatunnel_core.spark.starting import session
from seatunnel_core.spark.starting.settings import SparkSettings
folder = Path(sys.argv[1])
settings = SparkSettings(parallelism=1, java_options=tuple(sys.argv[2:]), log_file=folder / "log", cache=folder)
running = session.start(settings)
assert running.context.parallelize([1], 1).count() == 1
session.leave(running)
"""


MAKING = """
import os
from seatunnel_core.spark.starting.archived_classes import class_archive
from seatunnel_core.spark.starting.class_archive import make
from seatunnel_core.spark.starting.java import find_java
from seatunnel_core.spark.starting.settings import cache_folder
cache = cache_folder(os.environ)
make(class_archive(find_java(os.environ, cache), cache, os.environ), cache)
"""


@pytest.mark.torture
def test_spark_starts_with_it_and_without_one_that_is_broken(tmp_path: Path) -> None:
    cache = cache_folder(os.environ)
    shared = class_archive(find_java(os.environ, cache), cache, os.environ)
    if shared is None:
        pytest.skip("there are archives for Java 17 only")
    # Nothing, where another test run has made it. A test before may have left its Spark in this process.
    subprocess.run([sys.executable, "-c", MAKING], timeout=300, check=True)
    archive = ClassArchive(tmp_path / shared.file.name)
    shutil.copy(shared.file, archive.file)
    loaded = tmp_path / "loaded"

    def start(*flags: str) -> None:  # where a JVM dies, it leaves a report
        command = [sys.executable, "-c", PROGRAM, str(tmp_path), *flags]
        subprocess.run(command, env={**os.environ, FOLDER: str(tmp_path)}, cwd=tmp_path, timeout=120, check=True)

    start(f"-Xlog:class+load:file={loaded}")
    assert "org.apache.spark.SparkContext source: shared objects file (top)" in loaded.read_text()
    archive.file.chmod(0o600)
    os.truncate(archive.file, archive.file.stat().st_size // 2)
    start()
    assert not archive.file.exists()
