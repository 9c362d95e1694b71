"""The database of a cluster that has nothing else in common, and of the sinks of its jobs."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import define

from tests.servers.mariadb import MariaDB
from tests.servers.postgres import Postgres

SERVERS = {"postgres": Postgres, "mariadb": MariaDB}


@define(eq=False)
class Database:
    """A server that is killed, paused and started again.

    Args:
        server: which has been started.
    """

    server: Any

    @property
    def port(self) -> int:
        """On which it listens."""
        return int(self.server.port)

    def kill(self) -> None:
        """Kill all its processes."""
        self.server.kill()

    def start_again(self) -> None:
        """Start it on the same data, unless it runs; as often as it takes, since its disk may be full."""
        end = time.monotonic() + 300
        while True:
            try:
                self.server.start_again()
                return
            except RuntimeError:
                if time.monotonic() > end:
                    raise
                time.sleep(1)

    def stop(self) -> list[int]:
        """Let all its processes stand still, and return them.

        Raises:
            LookupError: it is not there now.
        """
        first = self.server.pid
        pids = [first]
        try:
            os.kill(first, signal.SIGSTOP)  # so that it starts no further ones
        except ProcessLookupError as error:
            raise LookupError("the database is not there now") from error
        with contextlib.suppress(OSError):
            pids += [int(each) for each in Path(f"/proc/{first}/task/{first}/children").read_text("utf-8").split()]
        for pid in pids[1:]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        return pids

    def go_on(self, pids: list[int]) -> None:
        """Let processes go on that were stopped; those that are gone meanwhile are no matter."""
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def options(self) -> dict[str, str]:
        """Of a connector ``Jdbc``, and of the storage ``jdbc``."""
        found: dict[str, str] = self.server.options()
        return found

    def ids(self, table: str) -> list[int]:
        """Return the column ``id`` of a table, sorted; nothing if there is no such table."""
        with contextlib.closing(self._connected()) as connection, connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM information_schema.tables WHERE table_name = '{table}'")
            if not cursor.fetchone()[0]:
                return []
            cursor.execute(f"SELECT id FROM {table} ORDER BY id")
            return [int(number) for (number,) in cursor.fetchall()]

    @contextlib.contextmanager
    def changing(self) -> Iterator[Any]:
        """Give a cursor in a transaction, which is committed."""
        with contextlib.closing(self._connected()) as connection, contextlib.closing(connection.cursor()) as cursor:
            yield cursor
            connection.commit()

    def _connected(self) -> Any:
        end = time.monotonic() + 60
        while True:
            try:
                return self.server.connect()
            except Exception:
                if time.monotonic() > end:
                    raise
                time.sleep(0.5)
