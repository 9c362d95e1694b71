"""pyftpdlib's server on loopback, for FTP: one user, and one folder that he may write."""

import importlib.util
import socket
import sys
from pathlib import Path

from attrs import define, field

from tests.servers.process import ServerProcess, free_port, unavailable

USER, PASSWORD = "seatunnel", "a-secret-of-the-tests"


@define
class Ftpd:
    """A server that shows ``root`` as ``/``; the user may write there unless ``writable`` says otherwise."""

    root: Path
    log: Path
    writable: bool = True
    port: int = field(factory=free_port)
    process: ServerProcess = field(init=False)

    def __attrs_post_init__(self) -> None:
        if importlib.util.find_spec("pyftpdlib") is None:
            unavailable("pyftpdlib is not installed: pip install pyftpdlib")
        where = ["-i", "127.0.0.1", "-p", str(self.port), "-d", str(self.root), "-u", USER, "-P", PASSWORD]
        where += ["-w"] * self.writable
        self.process = ServerProcess(
            command=[sys.executable, "-W", "ignore", "-m", "pyftpdlib", *where], ready=self._is_up, log=self.log
        )

    def _is_up(self) -> bool:
        with socket.create_connection(("127.0.0.1", self.port), timeout=2) as probe:
            return probe.recv(4) == b"220 "
