"""The Spark of a host: started beside everything else, kept warm, and followed as executors come and go."""

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
"""An executor that the driver has not heard of for so long is lost. It reports every two seconds."""

_PROPERTIES = "PYSPARK_SUBMIT_ARGS"

_BOUNDS = {"spark.cleaner.periodicGC.interval": "1min"}
"""Spark keeps what it sent to tasks until Java collects its garbage, which by itself happens when the heap is full. A
collection takes a tenth of a second."""


@frozen(kw_only=True)
class SparkStanding:
    """How a host's Spark stands."""

    slots: int = 0
    """How many tasks it runs at once; 0 while it starts or has no executor."""

    executors: int = 0
    """How many it has on a cluster."""

    application: str = ""
    """Its id at the master of a cluster."""


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
    """Return how a host starts Spark, and set what PySpark reads from this process's environment.

    Args:
        cluster: its name.
        name: of the host; empty for the one that jobs share.
        slots: how many tasks run at once without a Spark cluster.
        log_file: of Spark and Java.
        master: of the Spark cluster; empty for none.
        address: of this node, where executors find the driver; empty for Spark's own choice.
        properties: the file with the secret of the cluster's own Spark master; ``None`` when it is another's.
        own: options of the job that has the host for itself; they win, and may name another cluster.
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
        WAIT_OPTION: "1000d",  # a cluster without workers waits for one
        "spark.log.level": "WARN",
    }


def _options_of_workers(address: str, resource: str) -> dict[str, str]:
    """Return what goes for the workers of the cluster itself."""
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
"""Time limit for the start of the JVM, in seconds: PySpark itself waits for a JVM that hangs forever."""


class WarmSpark:
    """Starts the backend and looks after it. ``look`` never blocks for long.

    Args:
        backend: not started.
        slots: of Spark without a cluster.
        clock: Monotonic seconds.
    """

    def __init__(self, backend: SparkBackend, slots: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._backend = backend
        self._slots = slots
        self._warm: frozenset[str] = frozenset()
        """The executors whose Python processes have imported what tasks need."""

        self._started = False
        self._clock = clock
        self._began = clock()
        self.failure = ""
        """Why Spark did not start; empty while it may."""

        self._warming: threading.Thread | None = None

    def start(self) -> None:
        """Begin, and return at once. On a cluster the start ends when there is an executor."""
        self._began = self._clock()
        threading.Thread(target=self._start, name="spark", daemon=True).start()

    def _start(self) -> None:
        try:
            self._backend.start()
            self._warm = self._backend.executors()
            self._backend.warm()
            gc.collect()
            gc.freeze()  # all that is here lives as long as the process: do not look for garbage among it
            self._started = True
        except PlatformError as error:
            self.failure = str(error)
        except Exception as error:
            if not self._backend.is_alive():
                self.failure = "the JVM of Spark ended while it started"
                return
            logger.exception("a bug of ours: Spark did not start")
            self.failure = repr(error)

    def is_gone(self) -> bool:
        """Return whether Spark has started and is there no more."""
        return self._started and not self._backend.is_alive()

    def look(self) -> SparkStanding:
        """Return how Spark stands now."""
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
        """Warm executors that have come since, once at a time."""
        if self._warming is not None and self._warming.is_alive():
            return

        def warm() -> None:
            try:
                self._backend.warm()
                self._warm = executors
            except SeaTunnelError as error:
                logger.error("new executors cannot run what jobs need: %s", error)
                self._warm |= executors

        self._warming = threading.Thread(target=warm, name="warming", daemon=True)
        self._warming.start()

    def give_up(self) -> None:
        """End a start that still waits for executors."""
        self._backend.give_up()
