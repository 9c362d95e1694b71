"""MariaDB from the system's packages, as one process on loopback that can be killed and started on the same data."""

import contextlib
import logging
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from attrs import define, field

from tests.servers.process import ServerProcess, free_port, require

USER, PASSWORD = "seatunnel", "s3cret/with@signs"

_FOLDER_NOT_EMPTY = 1010
"""MariaDB's error ER_DB_DROP_RMDIR."""

_log = logging.getLogger(__name__)


def build() -> Path:
    """The program."""
    require("mariadbd", "mariadb-install-db")
    return Path(str(shutil.which("mariadbd")))


@define
class MariaDB:
    """A server with one user, who may do everything and needs a password, and the database ``shop``."""

    folder: Path = field(factory=lambda: Path(tempfile.mkdtemp(prefix="seatunnel-mariadb-")))
    port: int = field(factory=free_port)
    host: str = "127.0.0.1"
    """On which it listens beside loopback."""

    _process: ServerProcess = field(init=False)

    def start(self) -> None:
        program, data = build(), self.folder / "data"
        made = ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--user=root", "--skip-test-db"]
        made += ["--auth-root-authentication-method=normal"]
        temporary = self.folder / "temporary"  # in one that servers share, each removes what others have open
        temporary.mkdir(exist_ok=True)
        environment = {**os.environ, "TMPDIR": str(temporary)}
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
        command = [str(program), "--no-defaults", "--user=root", f"--datadir={data}", f"--port={self.port}"]
        listening = ",".join(dict.fromkeys(("127.0.0.1", self.host)))
        command += [f"--tmpdir={temporary}"]
        command += [f"--bind-address={listening}", f"--socket={self.folder}/s.sock", "--max-connections=200"]
        command += ["--character-set-server=utf8mb4", "--innodb-buffer-pool-size=64M", "--innodb-log-file-size=32M"]
        self._process = ServerProcess(command, self._answers, self.folder / "server.log")
        self._process.start()
        with contextlib.closing(self._as("root", "", "mysql")) as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE USER {USER}@'%%' IDENTIFIED BY %s", (PASSWORD,))
            cursor.execute(f"GRANT ALL ON *.* TO {USER}@'%' WITH GRANT OPTION")
            cursor.execute("CREATE DATABASE shop")

    @property
    def url(self) -> str:
        return f"jdbc:mysql://{self.host}:{self.port}/shop"

    def options(self, database: str = "shop") -> dict[str, str]:
        """Of a connector ``Jdbc``."""
        return {"url": f"jdbc:mysql://{self.host}:{self.port}/{database}", "user": USER, "password": PASSWORD}

    def connect(self, database: str = "shop") -> Any:
        """A connection of PyMySQL that commits each statement."""
        return self._as(USER, PASSWORD, database)

    def run(self, *statements: str, database: str = "shop") -> list[Any]:
        """The rows that the last one gives."""
        with contextlib.closing(self.connect(database)) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())

    def empty(self, database: str = "shop") -> None:
        """Drop the database, and create it again.

        A server that was killed while it dropped a table may have left a file that it does not know after its restart.
        It drops its tables then, but not the folder of the database, and says so each time.
        """
        import pymysql

        try:
            self.run(f"DROP DATABASE IF EXISTS {database}", database="mysql")
        except pymysql.err.OperationalError as error:
            folder = self.folder / "data" / database
            left = sorted(each.name for each in folder.iterdir())
            if error.args[0] != _FOLDER_NOT_EMPTY or not left:
                raise
            _log.warning("MariaDB does not know these files of the database %s: %s", database, ", ".join(left))
            shutil.rmtree(folder)
        self.run(f"CREATE DATABASE {database}", database="mysql")

    def kill(self) -> None:
        """As a power failure does."""
        self._process.kill()

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
        self._process.restart()

    def _as(self, user: str, password: str, database: str) -> Any:
        import pymysql

        return pymysql.connect(
            host="127.0.0.1", port=self.port, user=user, password=password, database=database, autocommit=True
        )

    def _answers(self) -> bool:
        import pymysql

        try:
            self._as("nobody", "", "").close()
        except pymysql.err.OperationalError as error:
            return bool(error.args[0] == 1045)  # it knows that there is no such user
        return True
