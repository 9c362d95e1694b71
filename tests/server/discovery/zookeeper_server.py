"""A ZooKeeper server, from the jars that pyspark brings."""

import os
import socket
import subprocess
from importlib.util import find_spec
from pathlib import Path

from attrs import define

from seatunnel_core.spark.starting.java import find_java
from tests.server.nodes import free_port, until


@define(eq=False)
class ZooKeeper:
    """One server, on a port of loopback."""

    folder: Path
    port: int
    process: "subprocess.Popen[bytes]"

    @property
    def address(self) -> str:
        """As a client writes it."""
        return f"127.0.0.1:{self.port}"

    def kill(self) -> None:
        """End the server at once."""
        self.process.kill()
        self.process.wait()


def start_zookeeper(folder: Path, port: int = 0) -> ZooKeeper:
    """Start a server, and wait until it answers; ``port`` of an earlier one starts that again."""
    folder.mkdir(exist_ok=True)
    port = port or free_port()
    (folder / "zoo.cfg").write_text(
        f"tickTime=500\ndataDir={folder}/data\nclientPort={port}\nclientPortAddress=127.0.0.1\n"
        "admin.enableServer=false\nminSessionTimeout=1000\n"
    )
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    jars = Path(spec.origin).parent / "jars"
    java = find_java(os.environ, folder).executable
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            [java, "-Xmx128m", "-cp", f"{jars}/*", "org.apache.zookeeper.server.ZooKeeperServerMain", "zoo.cfg"],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    until("ZooKeeper listens", lambda: _listens(port))
    return ZooKeeper(folder, port, process)


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True
