"""HDFS on loopback, from seven jars of Maven: NameNodes and DataNodes as processes that can be killed.

::

    cluster = HdfsCluster(folder)           # or HighlyAvailableHdfs(folder)
    cluster.start()
    storage = factory.create(cluster.configuration("/checkpoints/"))
    cluster.namenode.restart()              # kill -9, and a start on the same data
    cluster.stop()
"""

import contextlib
import getpass
import os
import socket
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self
from xml.sax.saxutils import escape

import requests

from tests.servers.process import ServerProcess, cache_folder, free_port, only_one, require, unavailable

HADOOP_VERSION = "3.4.1"

ARTIFACTS = (
    f"org.apache.hadoop:hadoop-client-api:{HADOOP_VERSION}",
    f"org.apache.hadoop:hadoop-client-runtime:{HADOOP_VERSION}",
    f"org.apache.hadoop:hadoop-client-minicluster:{HADOOP_VERSION}",
    "commons-logging:commons-logging:1.2",
    "org.slf4j:slf4j-api:1.7.36",
    "org.slf4j:slf4j-simple:1.7.36",
    # Not in newer JDKs. Without it the NameNode starts, and answers 404 to everything below /webhdfs.
    "javax.xml.bind:jaxb-api:2.3.1",
)

_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>tests</groupId><artifactId>hadoop</artifactId><version>1</version>
<dependencies>{}</dependencies></project>
"""
_DEPENDENCY = """<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>
<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions></dependency>
"""

_JVM = (
    "-Djava.net.preferIPv4Stack=true",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
)
_NAMENODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
_DATANODE = "org.apache.hadoop.hdfs.server.datanode.DataNode"
_ADMIN = "org.apache.hadoop.hdfs.tools.DFSAdmin"
_HA_ADMIN = "org.apache.hadoop.hdfs.tools.DFSHAAdmin"


def build() -> Path:
    """The folder with the jars, 90 MB; downloads what is missing."""
    folder = cache_folder("hadoop") / HADOOP_VERSION
    folder.mkdir(exist_ok=True)
    jars = folder / "jars"
    with only_one(folder):
        if not (folder / "complete").exists():
            require("mvn", "java")
            pom = folder / "pom.xml"
            pom.write_text(_POM.format("".join(_DEPENDENCY.format(*each.split(":")) for each in ARTIFACTS)))
            copy = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={jars}"]
            done = subprocess.run(copy, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise RuntimeError(f"Hadoop's jars cannot be had: {(done.stdout + done.stderr)[-2_000:]}")
            (folder / "complete").touch()
    return jars


class Node:
    """The configuration of one daemon, and how its programs are run."""

    def __init__(
        self, folder: Path, *, core_site: Mapping[str, str], hdfs_site: Mapping[str, str], jvm: Sequence[str]
    ) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        _write_site(folder / "core-site.xml", {"hadoop.tmp.dir": f"{folder}/tmp", **core_site})
        _write_site(folder / "hdfs-site.xml", hdfs_site)
        self._java = ["java", *_JVM, *jvm, "-cp", f"{folder}:{build()}/*"]

    def daemon(self, main: str, ready: Callable[[], bool]) -> ServerProcess:
        log = self.folder / f"{main.rpartition('.')[2].lower()}.log"
        return ServerProcess([*self._java, main], ready=ready, log=log)

    def run(self, main: str, *arguments: str) -> str:
        """Runs a program to its end, about a second.

        Raises:
            RuntimeError: with its output, if it fails.
        """
        done = subprocess.run([*self._java, main, *arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{main} {' '.join(arguments)}: {(done.stdout + done.stderr)[-2_000:]}")
        return done.stdout


class Cluster(ABC):
    """As a context manager it runs within the block."""

    @abstractmethod
    def start(self) -> None: ...

    @abstractmethod
    def stop(self) -> None: ...

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class HdfsCluster(Cluster):
    """A NameNode and a DataNode, with permissions as any cluster has them; this user is the superuser.

    Args:
        folder: empty or of an earlier cluster; keeps configuration, data and logs.
        host: what the servers listen on and are called; a Kerberos cluster needs ``"localhost"``.
        core_site: more properties of ``core-site.xml``, or other values of ours.
        hdfs_site: the same for ``hdfs-site.xml``.
        jvm: more options of every JVM.
        writable: whether a file can be written; a secure cluster has to bring its own.
    """

    def __init__(
        self,
        folder: Path,
        *,
        host: str = "127.0.0.1",
        core_site: Mapping[str, str] | None = None,
        hdfs_site: Mapping[str, str] | None = None,
        jvm: Sequence[str] = (),
        writable: Callable[[], bool] | None = None,
    ) -> None:
        self.http = f"{host}:{free_port()}"
        self.rpc = f"{host}:{free_port()}"
        self.datanode_http = f"{host}:{free_port()}"
        self._node = Node(
            folder,
            core_site={"fs.defaultFS": f"hdfs://{self.rpc}", **(core_site or {})},
            hdfs_site={
                "dfs.namenode.name.dir": f"file://{folder}/names",
                "dfs.namenode.http-address": self.http,
                **_datanode_site(folder, host, self.datanode_http),
                **(hdfs_site or {}),
            },
            jvm=jvm,
        )
        self._folder = folder
        self.namenode = self._node.daemon(_NAMENODE, lambda: answers(self.http, self.rpc))
        self.datanode = self._node.daemon(_DATANODE, writable or (lambda: is_writable(self.http)))

    def configuration(self, namespace: str) -> dict[str, str]:
        """The keys of the plugin."""
        return {
            "storage.type": "hdfs",
            "fs.defaultFS": f"hdfs://{self.rpc}",
            "dfs.namenode.http-address": self.http,
            "namespace": namespace,
        }

    def start(self) -> None:
        """Returns when a file was written and removed."""
        if not (self._folder / "names").exists():
            self._node.run(_NAMENODE, "-format", "-nonInteractive")
        self.datanode.launch()
        self.namenode.start()
        self.datanode.wait_until_ready()

    def stop(self) -> None:
        self.datanode.kill()
        self.namenode.kill()

    def another_datanode(self) -> ServerProcess:
        """A second DataNode, started and killed by the caller, on this machine's address in its network.

        The NameNode still prefers the first one for clients on loopback, as it does in any cluster for clients on the
        machine of a DataNode. Needs a cluster with ``dfs.namenode.rpc-bind-host: 0.0.0.0``.
        """
        host = outward_address()
        folder = self._folder / host
        site = {
            **_datanode_site(folder, host, f"{host}:{free_port()}"),
            "dfs.namenode.http-address": self.http,
            # Or it would come from loopback, and count as being on the same host as the first one.
            "dfs.namenode.rpc-address": f"{host}:{self.rpc.rpartition(':')[2]}",
        }
        node = Node(folder, core_site={"fs.defaultFS": f"hdfs://{self.rpc}"}, hdfs_site=site, jvm=())
        before = live_datanodes(self.http)
        return node.daemon(_DATANODE, lambda: live_datanodes(self.http) > before)

    def admin(self, *arguments: str) -> str:
        """Runs ``hdfs dfsadmin``, as in ``admin("-safemode", "enter")``."""
        return self._node.run(_ADMIN, *arguments)


class HighlyAvailableHdfs(Cluster):
    """Two NameNodes with their edits in one folder, and a DataNode. The first one is made active at the start."""

    nameservice = "ha"

    def __init__(self, folder: Path) -> None:
        host = "127.0.0.1"
        self.http = [f"{host}:{free_port()}" for _ in range(2)]
        self.rpc = [f"{host}:{free_port()}" for _ in range(2)]
        self._folder = folder
        self._site = self._shared_site()
        datanode = _datanode_site(folder, host, f"{host}:{free_port()}")
        self._nodes = [self._node(number, self._site | datanode) for number in (1, 2)]
        self.namenodes = [
            node.daemon(_NAMENODE, lambda http=http, rpc=rpc: answers(http, rpc))  # type: ignore[misc]
            for node, http, rpc in zip(self._nodes, self.http, self.rpc, strict=True)
        ]
        self.datanode = self._nodes[0].daemon(_DATANODE, self._is_writable)
        self.client_site = folder / "client" / "hdfs-site.xml"
        self.client_site.parent.mkdir(exist_ok=True)
        _write_site(self.client_site, self._site)

    def _shared_site(self) -> dict[str, str]:
        name = self.nameservice
        provider = "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
        site = {
            "dfs.nameservices": name,
            f"dfs.ha.namenodes.{name}": "nn1,nn2",
            f"dfs.client.failover.proxy.provider.{name}": provider,
            "dfs.namenode.shared.edits.dir": f"file://{self._folder}/shared",
            "dfs.ha.fencing.methods": "shell(/bin/true)",
            "dfs.ha.automatic-failover.enabled": "false",
            "dfs.ha.tail-edits.period": "1s",
            "dfs.ha.standby.checkpoints": "false",
        }
        for number in (0, 1):
            site[f"dfs.namenode.rpc-address.{name}.nn{number + 1}"] = self.rpc[number]
            site[f"dfs.namenode.http-address.{name}.nn{number + 1}"] = self.http[number]
        return site

    def _node(self, number: int, site: Mapping[str, str]) -> Node:
        own = {
            "dfs.ha.namenode.id": f"nn{number}",
            "dfs.namenode.name.dir": f"file://{self._folder}/names{number}",
        }
        core = {
            "fs.defaultFS": f"hdfs://{self.nameservice}",
            # Whoever calls a dead NameNode shall hear so at once.
            "ipc.client.connect.max.retries": "1",
            "ipc.client.connect.retry.interval": "100",
        }
        return Node(self._folder / f"nn{number}", core_site=core, hdfs_site={**site, **own}, jvm=())

    def configuration(self, namespace: str) -> dict[str, str]:
        """The keys of the plugin: the nameservice, and the file that says what it is."""
        return {
            "storage.type": "hdfs",
            "fs.defaultFS": f"hdfs://{self.nameservice}",
            "hdfs_site_path": str(self.client_site),
            "namespace": namespace,
        }

    def start(self) -> None:
        """Returns when the first NameNode is active and a file was written and removed."""
        (self._folder / "shared").mkdir(exist_ok=True)
        first, second = self._nodes
        first.run(_NAMENODE, "-format", "-nonInteractive", "-force")
        self.namenodes[0].start()
        second.run(_NAMENODE, "-bootstrapStandby", "-nonInteractive", "-force")
        self.datanode.launch()
        self.namenodes[1].start()
        self.activate(0)
        self.datanode.wait_until_ready()

    def stop(self) -> None:
        for process in (self.datanode, *self.namenodes):
            process.kill()

    def activate(self, number: int) -> None:
        """Makes the NameNode of this index (0 or 1) the active one. The other may be active, standby or dead."""
        try:
            self.stand_by(1 - number)
            self._admin("-transitionToActive", f"nn{number + 1}")
        except RuntimeError:
            self._admin("-transitionToActive", "--forceactive", f"nn{number + 1}")

    def stand_by(self, number: int) -> None:
        self._admin("-transitionToStandby", f"nn{number + 1}")

    def _is_writable(self) -> bool:
        for http in self.http:
            with contextlib.suppress(requests.ConnectionError):
                if is_writable(http):
                    return True
        return False

    def _admin(self, *arguments: str) -> None:
        self._nodes[0].run(_HA_ADMIN, *arguments)


def answers(http: str, rpc: str) -> bool:
    """Whether a NameNode takes requests, active or not. Its web server is there before its RPC server, by seconds on a
    busy machine."""
    host, _, port = rpc.rpartition(":")
    socket.create_connection((host, int(port)), timeout=5).close()
    return requests.get(f"http://{http}/jmx?qry=Hadoop:service=NameNode,name=NameNodeStatus", timeout=5).ok


def outward_address() -> str:
    """This machine's address in its network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing; the address is one for documentation
        except OSError:
            unavailable("this machine has no address but loopback")
        return str(probe.getsockname()[0])


def live_datanodes(http: str) -> int:
    """How many the NameNode has heard of."""
    beans = requests.get(f"http://{http}/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState", timeout=5).json()
    return int(beans["beans"][0]["NumLiveDataNodes"])


def is_writable(http: str) -> bool:
    """Whether a file can be written: the NameNode is active, not in safe mode, and a DataNode has registered."""
    path = f"http://{http}/webhdfs/v1/tmp/.ready-{os.getpid()}"
    who = {"user.name": getpass.getuser()}
    written = requests.put(path, params={"op": "CREATE", "overwrite": "true", **who}, data=b"x", timeout=20)
    return written.status_code == 201 and requests.delete(path, params={"op": "DELETE", **who}, timeout=20).ok


def _datanode_site(folder: Path, host: str, http: str) -> dict[str, str]:
    return {
        "dfs.replication": "1",
        "dfs.datanode.data.dir": f"file://{folder}/blocks",
        "dfs.datanode.address": f"{host}:{free_port()}",
        "dfs.datanode.ipc.address": f"{host}:{free_port()}",
        "dfs.datanode.http.address": http,
        "dfs.datanode.hostname": host,
        "dfs.namenode.datanode.registration.ip-hostname-check": "false",
        # Seconds of waiting that a test machine has no use for; the last one alone is 300 ms of every small write.
        "dfs.namenode.safemode.extension": "0",
        "dfs.heartbeat.interval": "1",
        "dfs.client.block.write.locateFollowingBlock.initial.delay.ms": "5",
    }


def _write_site(path: Path, properties: Mapping[str, str]) -> None:
    lines = (
        f"<property><name>{escape(name)}</name><value>{escape(value)}</value></property>\n"
        for name, value in properties.items()
    )
    path.write_text(f"<configuration>\n{''.join(lines)}</configuration>\n")
