"""Spark backend of a worker process, which is started in the background, kept warm, and monitored."""

import gc
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from attrs import frozen

from seatunnel_core.errors import PlatformError, SeaTunnelError
from seatunnel_core.server.spark_children.spark_workers import DAEMON, PYTHON, resource_of
from seatunnel_core.spark.backend import SparkBackend
from seatunnel_core.spark.shipping import TASK_MODULES, WAIT_OPTION
from seatunnel_core.spark.starting.settings import SparkSettings, java_options

logger = logging.getLogger("seatunnel.cluster")

LOST_AFTER_S = 20
"""Time without reports after which an executor is considered lost, in seconds. Executors report every two seconds."""

_PROPERTIES = "PYSPARK_SUBMIT_ARGS"

_BOUNDS = {"spark.cleaner.periodicGC.interval": "1min"}
"""Settings that limit memory usage. Spark keeps data sent to tasks until the JVM's next garbage collection."""


@frozen(kw_only=True)
class SparkStanding:
    """Status of a worker process's Spark backend."""

    slots: int = 0
    """Number of concurrent tasks; 0 while Spark is starting or has no executor."""

    executors: int = 0
    """Number of executors on a cluster."""

    application: str = ""
    """Application ID at the Spark master."""


def host_settings(
    *,
    cluster: str,
    name: str,
    slots: int,
    log_file: Path,
    master: str = "",
    address: str = "",
    properties: Path | None = None,
    own: Mapping[str, str] = MappingProxyType({}),
) -> SparkSettings:
    """Return the Spark settings of a worker process, and set the environment variables that PySpark reads.

    The options of a dedicated process's job (``own``) take precedence, and may select another Spark cluster. An empty
    ``master`` is embedded Spark; ``properties`` contains the secret of the cluster's own Spark master.
    """
    elsewhere = "spark.master" in own
    secured = properties is not None and not elsewhere
    options = {} if not master or elsewhere else _cluster_options(master)
    if secured:
        options |= _options_of_workers(address, resource_of(name))
        os.environ[_PROPERTIES] = f"--properties-file {properties} pyspark-shell"
        os.environ["PYSPARK_PYTHON"] = PYTHON
    return SparkSettings(
        app_name=f"seatunnel {cluster} {name}".strip(),
        parallelism=slots,
        options={**_BOUNDS, **options, **own},
        java_options=java_options(os.environ),
        preloads=TASK_MODULES,
        log_file=log_file,
        adopt=False,
    )


def _cluster_options(master: str) -> dict[str, str]:
    return {
        "spark.master": master,
        WAIT_OPTION: "1000d",  # without workers, a cluster waits for one
        "spark.log.level": "WARN",
    }


def _options_of_workers(address: str, resource: str) -> dict[str, str]:
    """Return the Spark options for a cluster that runs its own Spark workers."""
    return {
        "spark.driver.host": address,
        "spark.driver.bindAddress": address,
        f"spark.executor.resource.{resource}.amount": "1",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.executor.heartbeatInterval": "2s",
        "spark.storage.blockManagerHeartbeatTimeoutMs": str(1000 * LOST_AFTER_S),
        "spark.network.timeoutInterval": "2s",
        "spark.python.daemon.module": DAEMON,
    }


START_S = 300.0
"""Time limit for the start of the JVM, in seconds. PySpark itself would wait for a hanging JVM forever."""


class WarmSpark:
    """Spark backend that is started and monitored in the background. ``probe`` never blocks for long."""

    def __init__(self, backend: SparkBackend, slots: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._backend = backend
        self._slots = slots
        self._warm: frozenset[str] = frozenset()
        """Executors with Python processes that have imported the modules of tasks."""

        self._started = False
        self._clock = clock
        self._began = clock()
        self.failure = ""
        """Reason why Spark did not start; otherwise empty."""

        self._warming: threading.Thread | None = None

    def start(self) -> None:
        """Start Spark in the background. On a cluster, the start is complete when there is an executor."""
        self._began = self._clock()
        threading.Thread(target=self._start, name="spark", daemon=True).start()

    def _start(self) -> None:
        try:
            self._backend.start()
            self._warm = self._backend.executors()
            self._backend.warm()
            gc.collect()
            gc.freeze()  # these objects live as long as the process: exclude them from garbage collection
            self._started = True
        except PlatformError as error:
            self.failure = str(error)
        except Exception as error:
            if not self._backend.is_alive():
                self.failure = "the JVM of Spark ended while starting"
                return
            logger.exception("internal error (a bug): Spark did not start")
            self.failure = repr(error)

    def is_gone(self) -> bool:
        """Return True if Spark was started and has ended."""
        return self._started and not self._backend.is_alive()

    def probe(self) -> SparkStanding:
        """Return the current status of Spark."""
        application = self._backend.application
        if not self._started:
            if self._clock() - self._began > START_S and not self._backend.is_alive():
                self.failure = f"the JVM of Spark did not start within {START_S:.0f} s"
            return SparkStanding(application=application)
        if not application:
            return SparkStanding(slots=self._slots)
        executors = self._backend.executors()
        if executors - self._warm:
            self._follow(executors)
        slots = self._backend.count_slots() if executors else 0
        return SparkStanding(slots=slots, executors=len(executors), application=application)

    def _follow(self, executors: frozenset[str]) -> None:
        """Warm up new executors in a thread, unless such a thread is still running."""
        if self._warming is not None and self._warming.is_alive():
            return

        def warm() -> None:
            try:
                self._backend.warm()
                self._warm = executors
            except SeaTunnelError as error:
                logger.error("cannot warm up new executors: %s", error)
                self._warm |= executors

        self._warming = threading.Thread(target=warm, name="warming", daemon=True)
        self._warming.start()

    def give_up(self) -> None:
        """Cancel a start that still waits for executors."""
        self._backend.give_up()
