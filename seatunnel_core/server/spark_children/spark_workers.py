"""Spark workers of a node with role ``worker``: one for each worker process of each master that the node has joined."""

import hashlib
import json
import logging
import os
import shlex
import shutil
import sys
from collections.abc import Collection
from pathlib import Path

from attrs import frozen

from seatunnel_core.control.private_files import private_folder
from seatunnel_core.server.agent.node_config import NodeConfig
from seatunnel_core.server.spark_children.bound import BOUND_PROCESS
from seatunnel_core.server.spark_children.child import BOUND, Child
from seatunnel_core.server.spark_children.credentials import Credentials, write_properties
from seatunnel_core.server.spark_children.run_folder import run_folder
from seatunnel_core.server.spark_children.spark_master import WORKER_TIMEOUT_S
from seatunnel_core.spark.starting.java import find_java
from seatunnel_core.spark.starting.settings import cache_folder

logger = logging.getLogger("seatunnel.cluster")

PYTHON = "seatunnel-python"
"""Command that executors use to start Python. It is resolved on each node, so installation paths may differ."""

DAEMON = "seatunnel_executor_daemon"
"""Module that executors start as the parent of their Python processes; see ``spark/executor_daemon.py``."""

_BIN, _JAVA_HOME = "bin", "java"

_JAVA = """#!/bin/sh
# Starts {java}; executors are bound to the Spark worker that starts them.
case " $* " in
    *" org.apache.spark.executor.CoarseGrainedExecutorBackend "*)
        exec {python} -I -S {bound} "${process}" {java} "$@" ;;
esac
exec {java} "$@"
"""
"""Script that starts Java for a Spark worker. An executor exits when its connection to the Spark worker breaks. If the
Spark worker ends before the executor has connected to it, the executor would otherwise keep running forever, unknown to
its node."""


@frozen(kw_only=True)
class Place:
    """A worker process for which this node can run tasks."""

    url: str
    """Address of the process's Spark master."""

    member: str
    """Address of the process's node."""

    host: str
    """Name of the process on its node; empty for the shared process."""


def resource_of(host: str) -> str:
    """Return the name of the Spark resource that reserves Spark workers for the executors of one worker process.

    Without this resource, the first application would get the cores of all Spark workers, and others would wait
    forever.
    """
    return f"own_{hashlib.sha256(host.encode()).hexdigest()[:12]}" if host else "shared"


class SparkWorkers:
    """Spark workers of one node, one for each worker process. Call all methods from one thread."""

    def __init__(self, config: NodeConfig, address: str) -> None:
        assert config.secret is not None, "node_config rejects a worker without a secret"
        self._config = config
        self._credentials = Credentials.of(config.secret, config.cluster)
        self._folder = run_folder(config.cluster, address)
        self._work = config.logs / "spark-work" / self._folder.name
        self._children: dict[Place, Child] = {}

    def prepare(self) -> None:
        """Create the files that start Java and Python. Raise ``PlatformError`` if Java is missing or unsuitable."""
        java = find_java(os.environ, cache_folder(os.environ)).executable
        _write_script(
            self._folder / _JAVA_HOME / "bin" / "java",
            _JAVA.format(
                python=shlex.quote(sys.executable), bound=shlex.quote(BOUND), process=BOUND_PROCESS,
                java=shlex.quote(str(java)),
            ),
        )  # fmt: skip
        own = self._folder / _BIN
        path = f"PYTHONPATH={shlex.quote(str(own))}${{PYTHONPATH:+:$PYTHONPATH}}"
        _write_script(own / PYTHON, f'#!/bin/sh\n{path} exec {shlex.quote(sys.executable)} "$@"\n')
        shutil.copyfile(Path(__file__).parents[2] / "spark" / "executor_daemon.py", own / f"{DAEMON}.py")

    def supervise(self, places: Collection[Place]) -> None:
        """Keep a Spark worker running for each worker process, and stop the Spark workers of ended processes."""
        for place in set(self._children) - set(places):
            logger.info("stopping the Spark worker for %s, because its worker process has ended", _described(place))
            self._children.pop(place).kill()
        for place in places:
            if place not in self._children:
                self._children[place] = self._child(place)
            self._children[place].supervise()

    def _child(self, place: Place) -> Child:
        resource = resource_of(place.host)
        name = f"{place.member.replace(':', '-')}-{resource}"
        work = self._work / name
        config = self._config

        def arguments() -> list[str]:
            for folder in (self._work.parent, self._work, work):
                private_folder(folder)
            properties = self._folder / f"worker-{name}.conf"
            write_properties(properties, self._properties(name, resource))
            return [
                "org.apache.spark.deploy.worker.Worker",
                *("--host", config.host, "--webui-port", "0", "--work-dir", str(work)),
                *("--cores", str(config.slots), "--memory", f"{_memory_mib()}m"),
                *("--properties-file", str(properties), place.url),
            ]

        environment = {
            "PATH": f"{self._folder / _BIN}:{os.environ.get('PATH', os.defpath)}",
            "JAVA_HOME": str(self._folder / _JAVA_HOME),
        }
        log = config.logs / f"seatunnel-engine-spark-worker-{place.member.replace(':', '-')}.log"
        return Child(f"the Spark worker for {_described(place)}", arguments, log, environment)

    def _properties(self, name: str, resource: str) -> dict[str, str]:
        offered = self._folder / f"resources-{name}.json"
        one = {"id": {"componentName": "spark.worker", "resourceName": resource}, "addresses": ["0"]}
        offered.write_text(json.dumps([one]), encoding="utf-8")
        return {
            **self._credentials.properties(),
            **self._credentials.page_properties(),
            "spark.worker.timeout": str(WORKER_TIMEOUT_S),
            "spark.worker.resourcesFile": str(offered),
            f"spark.worker.resource.{resource}.amount": "1",
            "spark.worker.cleanup.enabled": "true",
            "spark.worker.cleanup.appDataTtl": "86400",
            "spark.executor.logs.rolling.strategy": "size",
            "spark.executor.logs.rolling.maxSize": str(1 << 20),
            "spark.executor.logs.rolling.maxRetainedFiles": "3",
        }

    def end(self) -> None:
        """End all Spark workers with their executors."""
        children, self._children = self._children, {}
        for child in children.values():
            child.terminate()
        for child in children.values():
            child.end()


def _write_script(path: Path, text: str) -> None:
    """Write a script that only this user can execute."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o700)


def _described(place: Place) -> str:
    return f"{place.member}, the job {place.host}" if place.host else place.member


def _memory_mib() -> int:
    """Return this machine's memory in MiB. Each Spark worker may use all of it; executors have their own limit."""
    return max(1024, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // (1 << 20))
