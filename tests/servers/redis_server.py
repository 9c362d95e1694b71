"""Redis from the system's packages: one server on loopback that can be killed and started on the same data."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

from attrs import define, field

from tests.servers.process import ServerProcess, free_port, require

PASSWORD = "s3cret/with@signs"


def build() -> Path:
    """The program."""
    require("redis-server")
    return Path(str(shutil.which("redis-server")))


@define
class RedisServer:
    """A server that writes each command to disk before it answers."""

    settings: tuple[str, ...] = ()
    """Further arguments of the command line."""

    password: str = PASSWORD
    """Empty for none."""

    folder: Path = field(factory=lambda: Path(tempfile.mkdtemp(prefix="seatunnel-redis-")))
    port: int = field(factory=free_port)
    _process: ServerProcess = field(init=False)

    def start(self) -> None:
        command = [str(build()), "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder)]
        command += ["--appendonly", "yes", "--appendfsync", "always", "--save", "", "--databases", "4"]
        command += ["--requirepass", self.password] if self.password else []
        self._process = ServerProcess([*command, *self.settings], self._answers, self.folder / "server.log")
        self._process.start()

    def options(self, **more: Any) -> dict[str, Any]:
        """Of the source and the sink."""
        return {"host": "127.0.0.1", "port": self.port, "auth": self.password or None, **more}

    def client(self, **more: Any) -> Any:
        """A client of its own."""
        import redis

        return redis.Redis("127.0.0.1", self.port, password=self.password or None, **more)

    def kill(self) -> None:
        """``kill -9``."""
        self._process.kill()

    def start_again(self) -> None:
        """On the same data."""
        self._process.start()

    def stop(self) -> None:
        """For good."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _answers(self) -> bool:
        import redis

        try:
            with self.client() as client:
                return bool(client.ping())
        except redis.ConnectionError:
            return False
        except redis.ResponseError:
            return False
