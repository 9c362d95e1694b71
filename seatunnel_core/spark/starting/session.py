"""Start of Spark for a job, or adoption of the application's existing session.

The JVM schedules tasks, and Python moves the rows. Therefore the JVM is started with the flags for the fastest start,
unless the DataFrame path or the user's flags require others. All output of Spark and Java goes to one log file.
"""

import logging
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import field, frozen

from seatunnel_core.control.private_files import open_private, private_folder
from seatunnel_core.errors import PlatformError
from seatunnel_core.installing import install_command
from seatunnel_core.spark.starting import gateway, open_files
from seatunnel_core.spark.starting.archived_classes import ClassArchive, class_archive, make_in_background
from seatunnel_core.spark.starting.java import find_java
from seatunnel_core.spark.starting.master import require_master
from seatunnel_core.spark.starting.settings import (
    TASK_FAILURES,
    SparkSettings,
    cache_folder,
    jvm_flags,
    runs_on_this_machine,
    with_task_failures,
    workers_python,
)
from seatunnel_core.spark.starting.socket_folder import restore_socket_folder, socket_folder
from seatunnel_core.spark.worker_daemon import TEMPLATE
from seatunnel_core.spark.worker_template import WorkerTemplate

if TYPE_CHECKING:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

logger = logging.getLogger("seatunnel.spark")


_SECRETS = (
    "(?i)secret|passw|pwd|token|credential|signature|(access|account|api|private)[._-]?key|(?<![a-z])sas(?![a-z])"
    r"|://[^/?#\s]*@"
)
"""Pattern of names and values that Spark masks in its event log and on its web pages."""

LOOPBACK = "127.0.0.1"


_LOG4J = """# Spark's and Java's log of one run; nothing of it goes to the terminal.
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{yyyy-MM-dd HH:mm:ss.SSS} %p %c{1}: %m%n%ex
"""


@frozen(kw_only=True)
class RunningSpark:
    """Running Spark instance and its owner: the engine or the application."""

    context: "SparkContext" = field(repr=False)
    own: bool
    """True if the engine started Spark and therefore stops it."""

    log_file: Path | None
    template: WorkerTemplate | None = field(default=None, repr=False)
    """Template process for the tasks' processes, if any."""

    sockets: str | None = None
    """Folder for the sockets between the JVM and the task processes; ``None`` if they use TCP."""


WORKER_DAEMON = "seatunnel_core.spark.worker_daemon"

_using = threading.Lock()
_users: list[RunningSpark] = []
"""Users of the Spark that the engine started. The jobs of a process share this Spark, and the last user stops it."""


def start(settings: SparkSettings) -> RunningSpark:
    """Adopt the application's Spark, or start Spark. Raise PlatformError if neither is possible."""
    try:
        import pyspark
    except ImportError as error:
        raise PlatformError(
            f"Spark is not installed ({error}): {install_command('spark')}, or pip install 'pyspark>=4.0,<5' pyarrow"
        ) from error
    refuse_connect(settings)
    with _using:
        present = pyspark.SparkContext._active_spark_context
        if present is None or not _alive(present):
            running = _start_own(settings)
        elif not settings.adopt:
            raise PlatformError(
                "this process already has a Spark session, and only one is possible: stop that session first"
            )
        else:
            others = (user for user in _users if user.context is present)
            running = next(others, RunningSpark(context=present, own=False, log_file=None))
            logger.debug("using the %s Spark session", "engine's" if running.own else "application's")
        if running.own:
            _users.append(running)
    return running


def refuse_connect(settings: SparkSettings) -> None:
    """Raise ``PlatformError`` if a Spark Connect session is active or requested."""
    asked = settings.options.get("spark.remote") or os.environ.get("SPARK_REMOTE")
    if not asked and "pyspark.sql.connect.session" in sys.modules:
        from pyspark.sql.connect.session import SparkSession

        asked = SparkSession.getActiveSession()
    if asked:
        raise PlatformError(
            "a Spark Connect session has no job tags, scheduler pools and RDDs, which the engine needs to cancel, "
            "share and repeat its work. Use a classic session instead: remove spark.remote and SPARK_REMOTE, and "
            "set `spark.master` = local[*] or spark://HOST:7077 in the job's env, or use "
            "SparkSession.builder.master(…) in Python"
        )


def _start_own(settings: SparkSettings) -> RunningSpark:
    java = find_java(os.environ, settings.cache)
    require_master(str(settings.options.get("spark.master", "")))
    open_files.raise_limit()
    if open_files.is_short():
        logger.warning("%s", open_files.shortage())
    log_file = settings.log_file or settings.cache / "spark.log"
    private_folder(log_file.parent)
    logged_before = log_file.stat().st_size if log_file.exists() else 0
    os.environ["JAVA_HOME"] = str(java.home)
    os.environ["PYSPARK_PYTHON"] = workers_python(settings, os.environ)
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    archive = class_archive(java, settings.cache, os.environ)
    template = _template(settings, log_file)
    try:
        conf = configuration(settings, archive)
        sockets = conf.get("spark.python.unix.domain.socket.dir")
        try:
            context = gateway.launch(conf, log_file)
        except Exception:
            if archive is None or not archive.file.exists():
                raise
            context = gateway.launch(configuration(settings, None), log_file)
            archive.file.unlink(missing_ok=True)  # the archive is the only optional part
        return RunningSpark(context=context, own=True, log_file=log_file, template=template, sockets=sockets)
    except Exception as error:
        if template is not None:
            template.stop()
        reason = _reason(error, log_file, logged_before)
        raise PlatformError(f"Spark did not start: {reason}; see {log_file}") from error


def _template(settings: SparkSettings, log_file: Path) -> WorkerTemplate | None:
    """Start the template for task processes, unless tasks run elsewhere or the user has selected another daemon."""
    users = "spark.python.daemon.module" in settings.options
    if users or os.name != "posix" or not runs_on_this_machine(settings):
        return None
    with open_private(log_file) as log:
        template = WorkerTemplate(socket_folder(), settings.preloads, log)
    os.environ[TEMPLATE] = template.path  # for the JVM, which forwards it
    return template


def configuration(settings: SparkSettings, archive: ClassArchive | None) -> "SparkConf":
    """Return Spark's configuration: the engine's settings, overridden by the user's."""
    from pyspark import SparkConf

    conf = SparkConf(loadDefaults=False)
    chosen = {
        "spark.app.name": settings.app_name,
        "spark.master": f"local[{settings.parallelism or os.cpu_count() or 1},{TASK_FAILURES}]",
        "spark.scheduler.mode": "FAIR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.redaction.regex": _SECRETS,
        # Otherwise the cached frame of a query would have 200 partitions even for a few rows.
        "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "true",
        **settings.options,
    }
    chosen["spark.master"] = with_task_failures(chosen["spark.master"])
    if chosen["spark.master"].startswith("local"):  # no authentication: restrict access to this machine
        chosen = {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK, **chosen}
    flags = [*jvm_flags(settings, archive), f"-Dlog4j2.configurationFile={log4j_file(settings.cache).as_uri()}"]
    chosen["spark.driver.extraJavaOptions"] = " ".join(
        filter(None, [*map(gateway.quoted, flags), settings.options.get("spark.driver.extraJavaOptions", "")])
    )
    memory = [flag for flag in settings.java_options if flag.startswith("-Xmx")]
    if memory:
        chosen["spark.driver.memory"] = memory[-1].removeprefix("-Xmx")
    for key, value in chosen.items():
        conf.set(key, value)
    if runs_on_this_machine(settings):
        conf.setIfMissing("spark.python.unix.domain.socket.enabled", "true")
        conf.setIfMissing("spark.python.unix.domain.socket.dir", socket_folder())
        conf.setIfMissing("spark.python.daemon.module", WORKER_DAEMON)
    return conf


def log4j_file(cache: Path) -> Path:
    """Return the configuration file that makes Spark's JVM log to its output. Create the file if it is missing."""
    path = cache / "log4j2.properties"
    if not path.exists() or path.read_text() != _LOG4J:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        draft.write_text(_LOG4J)
        draft.replace(path)
    return path


def _reason(error: Exception, log_file: Path, logged_before: int) -> str:
    """Return the cause of a failed start for the user: the last error in the log, or else the exception."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return "the current directory was deleted; change to another one with cd"
    try:
        lines = log_file.read_bytes()[logged_before:].decode(errors="replace").splitlines()[-60:]
    except OSError:
        lines = []
    messages = [line.strip() for line in lines if not line.lstrip().startswith("at ")]  # without stack frames
    errors = [line for line in messages if "Error" in line or "Exception" in line]
    reason = errors[-1] if errors else (str(error).strip().splitlines() or [type(error).__name__])[0]
    return f"{reason}; {open_files.shortage()}" if open_files.is_short() else reason


def stop(running: RunningSpark) -> None:
    """Stop Spark if the engine started it and no other job of this process uses it. Never raises."""
    _end(running, running.context.stop)


def leave(running: RunningSpark) -> None:
    """Stop Spark like ``stop``, but without waiting. For a process that is about to exit.

    The JVM detects the end of its input, stops Spark and exits.
    """
    _end(running, lambda: _leave(running.context))


def _end(running: RunningSpark, end: Callable[[], None]) -> None:
    with _using:
        if running in _users:
            _users.remove(running)
        if not running.own or running in _users:
            return
        try:
            end()
        except Exception as error:
            logger.debug("Spark had already terminated: %s", error)
        if running.template is not None:
            running.template.stop()
        if running.context._gateway is not None and not gateway.is_alive(running.context._gateway):
            gateway.forget()


def _leave(context: "SparkContext") -> None:
    context._gateway.proc.stdin.close()
    gateway.forget()


def archive_classes() -> None:
    """Create the class archive in the background after a command that has started Spark, for the next command."""
    if "pyspark" not in sys.modules:
        return
    cache = cache_folder(os.environ)
    with suppress(PlatformError):
        archive = class_archive(find_java(os.environ, cache), cache, os.environ)
        if archive is not None:
            make_in_background(archive)


def restore_sockets(running: RunningSpark) -> None:
    """Create the socket folder again if it was removed; raise ``OSError`` if that fails."""
    if running.sockets is not None:
        restore_socket_folder(running.sockets)


def alive(running: RunningSpark) -> bool:
    """Return True if the JVM and Spark are running."""
    return _alive(running.context)


def _alive(context: "SparkContext") -> bool:
    if context._jsc is None or not gateway.is_alive(context._gateway):
        return False
    try:
        return not context._jsc.sc().isStopped()
    except Exception:
        return False


def session_of(running: RunningSpark) -> "SparkSession":
    """Return the SQL session. Only the DataFrame path needs it, and its creation takes a second."""
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    return active if active is not None else SparkSession(running.context)


def activate(session: "SparkSession") -> None:
    """Make a session the active one of this thread. Spark then uses its settings for the thread's requests."""
    session._get_j_spark_session_class(session._jvm).setActiveSession(session._jsparkSession)
