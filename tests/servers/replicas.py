"""A server of MySQL or MariaDB that replicates another one by GTIDs, and a name that leads to one of both."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from attrs import define, field

from tests.servers.mariadb import PASSWORD, USER
from tests.servers.mysql_server import GTIDS, LoggingMariaDB, LoggingMySQL

_PATIENCE_S = 60
_SETTINGS = ("--sync-binlog=0", "--innodb-flush-log-at-trx-commit=2", "--log-slave-updates=ON")
"""A process that is killed loses nothing that it has written."""


@define
class Pair:
    """A primary and its replica."""

    kind: str
    """``maria``, ``gtids``, or ``locks`` for two servers of MySQL without GTIDs that do not replicate."""

    primary: Any = field(init=False)
    replica: Any = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.primary, self.replica = (_server(self.kind, number) for number in (1, 2))

    @contextmanager
    def running(self) -> Iterator[None]:
        """Start both servers, and replicate from the first one to the second one."""
        with contextlib.ExitStack() as stack:
            for each in (self.primary, self.replica):
                stack.callback(each.stop)
                each.start()
            if self.kind != "locks":
                self.replicate()
            yield

    def replicate(self) -> None:
        """Replicate from the primary to the replica."""
        self.replica.run(_source(self.kind, self.primary.port), "START SLAVE")

    def identity(self, server: Any) -> str:
        ((value,),) = server.run(f"SELECT @@global.{'server_id' if self.kind == 'maria' else 'server_uuid'}")
        return str(value)

    def executed(self, server: Any) -> str:
        name = "gtid_binlog_pos" if self.kind == "maria" else "gtid_executed"
        ((value,),) = server.run(f"SELECT @@global.{name}")
        return str(value).replace("\n", "")

    def wait_until_replicated(self) -> None:
        """Wait until the replica has executed everything that the primary has executed now."""
        executed = self.executed(self.primary)
        function = "MASTER_GTID_WAIT" if self.kind == "maria" else "WAIT_FOR_EXECUTED_GTID_SET"
        ((result,),) = self.replica.run(f"SELECT {function}('{executed}', 60)")
        assert result == 0, "the replica does not keep up"

    def pause_replication(self) -> None:
        self.replica.run("STOP SLAVE")

    def fail_over(self) -> None:
        """Kill the primary, and promote the replica once it has executed what it has received."""
        self.primary.kill()
        deadline = time.monotonic() + _PATIENCE_S
        while not self._has_applied():
            assert time.monotonic() < deadline, "the replica does not execute its relay log"
            time.sleep(0.1)
        self.replica.run("STOP SLAVE", "RESET SLAVE ALL")

    def rejoin(self) -> None:
        """Start the killed server as a replica of the promoted one. They exchange their roles."""
        self.primary.start_again()
        if self.kind == "maria":
            self.primary.run("SET GLOBAL gtid_slave_pos = @@gtid_binlog_pos")
        self.primary.run(_source(self.kind, self.replica.port), "START SLAVE")
        self.primary, self.replica = self.replica, self.primary

    def purge(self, server: Any) -> None:
        """Remove the log before its last file. MariaDB keeps a file until InnoDB has written what is in it."""
        deadline = time.monotonic() + _PATIENCE_S
        while len(files := server.run("SHOW BINARY LOGS")) > 1:
            assert time.monotonic() < deadline, "the log is not purged"
            server.run(f"PURGE BINARY LOGS TO '{files[-1][0]}'")
            time.sleep(0.1)

    def _has_applied(self) -> bool:
        import pymysql

        with contextlib.closing(self.replica.connect()) as connection:
            cursor = connection.cursor(pymysql.cursors.DictCursor)
            cursor.execute("SHOW SLAVE STATUS")
            (found,) = cursor.fetchall()
        if found["Slave_SQL_Running"] != "Yes":
            return True
        read = (found["Master_Log_File"], found["Read_Master_Log_Pos"])
        return bool(read == (found["Relay_Master_Log_File"], found["Exec_Master_Log_Pos"]))


def _server(kind: str, number: int) -> Any:
    settings = (*_SETTINGS, f"--server-id={number}")
    if kind == "maria":
        return LoggingMariaDB(settings=(*settings, "--gtid-strict-mode=ON"))
    return LoggingMySQL(settings=(*settings, *(GTIDS if kind == "gtids" else ())))


def _source(kind: str, port: int) -> str:
    by_gtids = (
        "MASTER_USE_GTID = slave_pos" if kind == "maria" else "MASTER_AUTO_POSITION = 1, GET_MASTER_PUBLIC_KEY = 1"
    )
    return (
        f"CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {port}, MASTER_USER = '{USER}', "
        f"MASTER_PASSWORD = '{PASSWORD}', MASTER_CONNECT_RETRY = 1, {by_gtids}"
    )


@define
class MovingName:
    """An address that leads to a server, and later to another one, as a name or a virtual IP address does."""

    server: Any
    """To which new connections lead."""

    _listener: socket.socket = field(init=False)
    _open: list[socket.socket] = field(init=False, factory=list)

    def __attrs_post_init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"jdbc:mysql://127.0.0.1:{self._listener.getsockname()[1]}/shop"

    def move(self, server: Any) -> None:
        """Let new connections lead to another server, and close the others."""
        self.server = server
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.close()
        self.move(self.server)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.server.port))
            except OSError:
                client.close()
                continue
            self._open += [client, server]
            for one, other in ((client, server), (server, client)):
                threading.Thread(target=_copy, args=(one, other), daemon=True).start()


def _copy(one: socket.socket, other: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := one.recv(1 << 16):
            other.sendall(data)
    for each in (one, other):
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
