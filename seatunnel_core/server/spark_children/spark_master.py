"""Spark master of a node with role ``master``: a child process of its agent, used only by the node's worker processes.

After a crash, the Spark master is restarted at the same address with its state from a local folder. Spark workers and
worker processes register again, and their tasks continue. Spark masters share no folders and do not fail over.
"""

import http.client
import json
import logging
import shutil
import socket
from typing import Any

from attrs import frozen

from seatunnel_core import stored
from seatunnel_core.errors import StoredValueError
from seatunnel_core.server.agent.node_config import NodeConfig
from seatunnel_core.server.spark_children.child import Child
from seatunnel_core.server.spark_children.credentials import Credentials, write_properties
from seatunnel_core.server.spark_children.run_folder import run_folder

logger = logging.getLogger("seatunnel.cluster")

WORKER_TIMEOUT_S = 10
"""Time without reports after which a Spark worker is lost with its executors, in seconds."""

_MOST_QUICK_DEATHS = 3
"""Number of consecutive early exits after which another port is used, because the current one may be in use."""


@frozen(kw_only=True)
class MasterState:
    """State of a Spark master."""

    workers: int
    """Number of live workers."""

    free_cores: int
    applications: tuple[str, ...]
    """IDs of running applications."""


class SparkMaster:
    """Spark master of a node. Call ``supervise`` and ``end`` from one thread. ``state`` may block in another thread."""

    def __init__(self, config: NodeConfig, address: str) -> None:
        assert config.secret is not None, "node_config rejects a master without a secret"
        self._host = config.host
        self._credentials = Credentials.of(config.secret, config.cluster)
        self._folder = run_folder(config.cluster, address)
        self._port = self._page_port = 0
        self._listens = False
        self.application_file = self._folder / "application.conf"
        """Owner-only properties file of drivers, with the secret."""

        log = config.logs / "seatunnel-engine-spark-master.log"
        self._child = Child("the Spark master", self._arguments, log, {})

    @property
    def url(self) -> str:
        """Address for workers and drivers."""
        return f"spark://{self._host}:{self._port}"

    @property
    def has_begun(self) -> bool:
        """True after the Spark master has listened once. Workers that connect earlier only retry after ten seconds."""
        return self._listens

    def prepare(self, *, has_worker: bool) -> None:
        """Create the folder. If ``has_worker``, keep the address for the running worker process of an earlier agent."""
        before = self._ports_before() if has_worker else None
        if before is None:
            self._begin_anew()
        else:
            self._port, self._page_port = before
            self._listens = True  # workers that know the address must keep their executors
        write_properties(self.application_file, self._credentials.properties())

    def _begin_anew(self) -> None:
        self._listens = False
        shutil.rmtree(self._folder / "recovery", ignore_errors=True)
        self._port, self._page_port = free_port(self._host), free_port("127.0.0.1")
        ports = {"port": self._port, "page": self._page_port}
        (self._folder / "ports.json").write_text(json.dumps(ports), encoding="utf-8")

    def _ports_before(self) -> tuple[int, int] | None:
        try:
            block = stored.parse((self._folder / "ports.json").read_bytes())
            return stored.number(block, "port"), stored.number(block, "page")
        except (OSError, StoredValueError):
            return None

    def supervise(self) -> bool:
        """Keep the Spark master running. Return False if it has a new address, which worker processes do not know."""
        moved = self._child.deaths >= _MOST_QUICK_DEATHS and not self._child.pid
        if moved:
            logger.warning("the Spark master at %s ended repeatedly: starting it at another address", self.url)
            self._begin_anew()
            self._child.deaths = 0
        self._child.supervise()
        if not self._listens and self._child.pid:
            self._listens = _takes_connections(self._host, self._port)
        return not moved

    def end(self) -> None:
        """End the Spark master."""
        self._child.end()

    def _arguments(self) -> list[str]:
        recovery = self._folder / "recovery"
        recovery.mkdir(mode=0o700, exist_ok=True)
        properties = {
            **self._credentials.properties(),
            **self._credentials.page_properties(),
            "spark.master.rest.enabled": "false",  # otherwise anyone could start programs there
            "spark.port.maxRetries": "0",
            "spark.deploy.recoveryMode": "FILESYSTEM",
            "spark.deploy.recoveryDirectory": str(recovery),
            "spark.deploy.recoveryTimeout": str(WORKER_TIMEOUT_S),
            "spark.worker.timeout": str(WORKER_TIMEOUT_S),
            "spark.dead.worker.persistence": "0",
            "spark.deploy.retainedApplications": "10",
        }
        write_properties(self._folder / "master.conf", properties)
        return [
            "org.apache.spark.deploy.master.Master",
            *("--host", self._host, "--port", str(self._port), "--webui-port", str(self._page_port)),
            *("--properties-file", str(self._folder / "master.conf")),
        ]

    def state(self) -> MasterState | None:
        """Return the state of the Spark master; ``None`` if it does not respond."""
        connection = http.client.HTTPConnection("127.0.0.1", self._page_port, timeout=5)
        try:
            connection.request("GET", "/json/", headers={"Authorization": f"Bearer {self._credentials.token()}"})
            response = connection.getresponse()
            return _state(stored.parse(response.read())) if response.status == 200 else None
        except (OSError, http.client.HTTPException, StoredValueError) as error:
            logger.debug("the Spark master does not respond: %s", error)
            return None
        finally:
            connection.close()


def _state(block: Any) -> MasterState | None:
    if stored.text(block, "status") != "ALIVE":
        return None
    return MasterState(
        workers=stored.number(block, "aliveworkers"),
        free_cores=stored.number(block, "cores") - stored.number(block, "coresused"),
        applications=tuple(stored.text(each, "id") for each in stored.items(block, "activeapps")),
    )


def _takes_connections(host: str, port: int) -> bool:
    """Return True if a process listens at a local address. This does not block."""
    try:
        socket.create_connection((host, port), timeout=0.1).close()
    except OSError:
        return False
    return True


def free_port(host: str) -> int:
    """Return a currently free port of a local address."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])
