"""A standby of a PostgreSQL server, which can be promoted."""

import os
import subprocess

from attrs import define, field

from tests.servers.postgres import PASSWORD, USER, Postgres, build
from tests.servers.process import ServerProcess


@define
class Standby(Postgres):
    """A physical copy of another server, which follows it."""

    primary: Postgres = field(kw_only=True)

    def start(self) -> None:
        programs, data = build(), self.folder / "data"
        self._own(self.folder)
        copied = [str(programs / "pg_basebackup"), "-D", str(data), "-R", "-X", "stream", "-c", "fast", "--no-sync"]
        copied += ["-h", self.primary.host, "-p", str(self.primary.port), "-U", USER]
        environment = {**os.environ, "PGPASSWORD": PASSWORD}
        subprocess.run([*self._as_user(), *copied], check=True, cwd=self.folder, env=environment)
        command = [str(programs / "postgres"), "-D", str(data), "-c", f"listen_addresses={self.host}"]
        command += ["-c", f"port={self.port}", "-c", "unix_socket_directories=", "-c", "max_connections=60"]
        log = self.folder / "server.log"
        self._process = ServerProcess([*self._as_user(), *command], self._answers, log)
        self._process.start()

    def promote(self) -> None:
        """Make it a primary, without what it has not received."""
        with self.connect() as connection:
            connection.execute("SELECT pg_promote(true, 60)")
