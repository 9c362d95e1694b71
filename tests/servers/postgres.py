"""PostgreSQL from the system's packages, as one process on loopback that can be killed and started on the same data."""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from attrs import define, field

from tests.servers.process import ServerProcess, free_port, unavailable

USER, PASSWORD = "seatunnel", "s3cret/with@signs"


def build() -> Path:
    """The folder with the programs of the newest version that is installed, or the one that the environment names."""
    if named := os.environ.get("SEATUNNEL_POSTGRES_PROGRAMS"):
        return Path(named)
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda each: int(each.parent.name))
    on_path = shutil.which("initdb")
    if not folders and on_path is None:
        unavailable("PostgreSQL is not installed: apt-get install postgresql")
    return folders[-1] if folders else Path(str(on_path)).parent


@define
class Postgres:
    """A cluster with one superuser, who needs a password. It lies where its user, not ours, can reach it;
    those of pytest are closed to others."""

    folder: Path = field(factory=lambda: Path(tempfile.mkdtemp(prefix="seatunnel-postgres-")))
    port: int = field(factory=free_port)
    host: str = "127.0.0.1"
    """On which it listens; who comes from that network may ask for the password."""

    _process: ServerProcess = field(init=False)

    def start(self) -> None:
        programs, data = build(), self.folder / "data"
        self._own(self.folder)
        password = self.folder / "password"
        password.write_text(PASSWORD, "utf-8")
        self._own(password)
        made = [str(programs / "initdb"), "-D", str(data), "-U", USER, "-A", "scram-sha-256", "-E", "UTF8"]
        made += ["--locale=C.UTF-8", "--no-sync", f"--pwfile={password}"]
        subprocess.run([*self._as_user(), *made], check=True, stdout=subprocess.DEVNULL, cwd=self.folder)
        with (data / "pg_hba.conf").open("a") as file:
            file.write("host all all samenet scram-sha-256\n")
        settings = {
            "listen_addresses": self.host,
            "port": str(self.port),
            "unix_socket_directories": "",
            "max_connections": "60",
            "deadlock_timeout": "200ms",
        }
        command = [str(programs / "postgres"), "-D", str(data)]
        command += [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        log = self.folder / "server.log"
        self._process = ServerProcess([*self._as_user(), *command], self._answers, log)
        self._process.start()

    @property
    def url(self) -> str:
        return f"jdbc:postgresql://{self.host}:{self.port}/postgres"

    def options(self, database: str = "postgres") -> dict[str, str]:
        """Of a connector ``Jdbc``."""
        url = f"jdbc:postgresql://{self.host}:{self.port}/{database}"
        return {"url": url, "user": USER, "password": PASSWORD}

    def connect(self, database: str = "postgres") -> Any:
        """A connection of psycopg that commits each statement."""
        import psycopg

        return psycopg.connect(
            host=self.host, port=self.port, user=USER, password=PASSWORD, dbname=database, autocommit=True
        )

    def let_files_grow_to(self, most_bytes: int | None) -> None:
        """What a full disk is for connections that are opened from now on: a file does not become larger."""
        said = "unlimited" if most_bytes is None else str(most_bytes)
        pid = (self.folder / "data" / "postmaster.pid").read_text("utf-8").splitlines()[0]
        subprocess.run([*self._as_user(), "prlimit", f"--pid={pid}", f"--fsize={said}:"], check=True)

    def kill(self) -> None:
        """All its processes at once, as a power failure does. Each has a process group of its own."""
        children = self._children()
        self._process.kill()
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        deadline = time.monotonic() + 30
        while any(Path(f"/proc/{child}").exists() for child in children) and time.monotonic() < deadline:
            time.sleep(0.01)

    def stop(self) -> None:
        """For good."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def pid(self) -> int:
        """Of the process that starts all others."""
        return self._process.pid

    def start_again(self) -> None:
        """A start on the same data, unless it runs."""
        if not self._process.runs():
            self._process.start()

    def restart(self) -> None:
        """``kill -9``, and a start on the same data."""
        self.kill()
        self._process.start()

    def _children(self) -> list[int]:
        lines = (self.folder / "data" / "postmaster.pid").read_text("utf-8").splitlines()
        found = Path(f"/proc/{lines[0]}/task/{lines[0]}/children")
        return [int(child) for child in found.read_text("utf-8").split()] if found.exists() else []

    def _answers(self) -> bool:
        import psycopg

        with contextlib.suppress(psycopg.OperationalError), socket.create_connection((self.host, self.port), 1):
            self.connect().close()
            return True
        return False

    def _own(self, path: Path) -> None:
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(path, user.pw_uid, user.pw_gid)

    def _as_user(self) -> list[str]:
        """PostgreSQL does not start as root."""
        return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
