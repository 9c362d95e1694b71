"""The Spark workers of a node of the role ``worker``: one for each master that the node has joined."""

import logging
import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from seatunnel_core.server.agent.node_config import NodeConfig
from seatunnel_core.server.spark_children.child import Child
from seatunnel_core.server.spark_children.credentials import Credentials, write_properties
from seatunnel_core.server.spark_children.run_folder import run_folder
from seatunnel_core.server.spark_children.spark_master import WORKER_TIMEOUT_S

logger = logging.getLogger("seatunnel.cluster")

PYTHON = "seatunnel-python"
"""The name by which executors start Python: each node's own, so that nodes may have it in different places."""

DAEMON = "seatunnel_executor_daemon"
"""The module that executors start as the parent of their Python processes; see ``spark/executor_daemon.py``."""

_BIN = "bin"


class SparkWorkers:
    """The Spark workers of one node. All methods belong to one thread.

    Args:
        config: of the node, which has a secret.
        address: of the member.
    """

    def __init__(self, config: NodeConfig, address: str) -> None:
        assert config.secret is not None, "node_config refuses a worker without a secret"
        self._config = config
        self._credentials = Credentials.of(config.secret, config.cluster)
        self._folder = run_folder(config.cluster, address)
        self._work = config.logs / "spark-work" / self._folder.name
        self._children: dict[str, Child] = {}
        """By the URL of the Spark master."""

    def prepare(self) -> None:
        """Lay out what the Spark workers and their executors need."""
        own = self._folder / _BIN
        own.mkdir(mode=0o700, exist_ok=True)
        daemon = Path(__file__).parents[2] / "spark" / "executor_daemon.py"
        shutil.copyfile(daemon, own / f"{DAEMON}.py")
        path = f"PYTHONPATH={shlex.quote(str(own))}${{PYTHONPATH:+:$PYTHONPATH}}"
        script = own / PYTHON
        script.write_text(f'#!/bin/sh\n{path} exec {shlex.quote(sys.executable)} "$@"\n', encoding="utf-8")
        script.chmod(0o700)
        properties = {
            **self._credentials.properties(),
            **self._credentials.page_properties(),
            "spark.worker.timeout": str(WORKER_TIMEOUT_S),
            "spark.worker.cleanup.enabled": "true",
            "spark.worker.cleanup.appDataTtl": "86400",
            "spark.executor.logs.rolling.strategy": "size",
            "spark.executor.logs.rolling.maxSize": str(1 << 20),
            "spark.executor.logs.rolling.maxRetainedFiles": "3",
        }
        write_properties(self._folder / "worker.conf", properties)

    def supervise(self, masters: Mapping[str, str]) -> None:
        """Keep one Spark worker alive for each Spark master, and end those of masters that are no more.

        Args:
            masters: the addresses of the members, by the URLs of their Spark masters.
        """
        for url in set(self._children) - set(masters):
            logger.info("the Spark master %s is gone: its Spark worker ends", url)
            self._children.pop(url).end()
        for url, member in masters.items():
            if url not in self._children:
                self._children[url] = self._child(url, member)
            self._children[url].supervise()

    def _child(self, url: str, member: str) -> Child:
        work = self._work / member.replace(":", "-")
        config = self._config

        def arguments() -> list[str]:
            work.mkdir(parents=True, exist_ok=True)
            return [
                "org.apache.spark.deploy.worker.Worker",
                *("--host", config.host, "--webui-port", "0", "--work-dir", str(work)),
                *("--cores", str(config.slots), "--memory", f"{_memory_mib()}m"),
                *("--properties-file", str(self._folder / "worker.conf"), url),
            ]

        environment = {"PATH": f"{self._folder / _BIN}:{os.environ.get('PATH', os.defpath)}"}
        log = config.logs / f"seatunnel-engine-spark-worker-{work.name}.log"
        return Child(f"the Spark worker of {member}", arguments, log, environment)

    @property
    def pids(self) -> tuple[int, ...]:
        """Of their processes."""
        return tuple(child.pid for child in self._children.values() if child.pid)

    def end(self) -> None:
        """End all of them, with their executors."""
        children, self._children = self._children, {}
        for child in children.values():
            child.terminate()
        for child in children.values():
            child.end()


def _memory_mib() -> int:
    """Return the memory of this machine. Each Spark worker is told all of it: what executors take is set elsewhere."""
    return max(1024, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // (1 << 20))
