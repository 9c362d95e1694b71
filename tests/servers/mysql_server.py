"""MariaDB, MySQL 8.0 and MySQL 5.7 that write a binary log, with settings of a test."""

import signal
from collections.abc import Sequence
from typing import Any

from attrs import define, field

from tests.servers.mariadb import MariaDB
from tests.servers.mysql import MySQL, MySQL57

_LOGGING = ("--log-bin=bin", "--server-id=1", "--binlog-format=ROW", "--max-allowed-packet=256M")


def _log_from_now_on(server: Any) -> None:
    """Start the server again with a log; its set-up before is in none."""
    process = server._process
    process.kill(signal.SIGTERM)
    process.command = [*(part for part in process.command if "--init-file" not in part), *_LOGGING, *server.settings]
    process.start()


def stop_cleanly(server: Any) -> None:
    """Shut the server down, as for a backup of its files."""
    server._process.kill(signal.SIGTERM)


@define
class LoggingMariaDB(MariaDB):
    """MariaDB with a binary log."""

    settings: Sequence[str] = field(factory=tuple, kw_only=True)
    """Further settings, such as ``--binlog-row-metadata=FULL``."""

    def start(self) -> None:
        super().start()
        _log_from_now_on(self)


@define
class LoggingMySQL(MySQL):
    """MySQL 8.0.15 with a binary log."""

    settings: Sequence[str] = field(factory=tuple, kw_only=True)

    def start(self) -> None:
        super().start()
        _log_from_now_on(self)


@define
class LoggingMySQL57(MySQL57):
    """MySQL 5.7.22 with a binary log."""

    settings: Sequence[str] = field(factory=tuple, kw_only=True)

    def start(self) -> None:
        super().start()
        _log_from_now_on(self)


GTIDS = ("--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--log-slave-updates=ON")
"""Settings of a MySQL whose transactions have GTIDs."""
