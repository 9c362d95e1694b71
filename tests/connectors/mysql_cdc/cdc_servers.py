"""Servers whose marks differ, with durable commits and default metadata in the log."""

from typing import Any

from tests.servers.mysql_server import GTIDS, LoggingMariaDB, LoggingMySQL, LoggingMySQL57

_DURABLE = ("--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1")


class CapturedMariaDB(LoggingMariaDB):
    def __init__(self) -> None:
        super().__init__(settings=_DURABLE)


class CapturedMySQL(LoggingMySQL):
    """MySQL 8.0 with GTIDs."""

    def __init__(self) -> None:
        super().__init__(settings=(*_DURABLE, *GTIDS))


class PlainMySQL(LoggingMySQL):
    """MySQL 8.0 without GTIDs."""

    def __init__(self) -> None:
        super().__init__(settings=_DURABLE)


class PlainMySQL57(LoggingMySQL57):
    """MySQL 5.7 without GTIDs."""

    def __init__(self) -> None:
        super().__init__(settings=_DURABLE)


SERVERS = {"maria": CapturedMariaDB, "gtids": CapturedMySQL, "locks": PlainMySQL, "my57": PlainMySQL57}


def cdc_options(server: Any, *tables: str) -> dict[str, Any]:
    """Options of the source for tables of ``shop``."""
    found = server.options()
    return {
        "url": found["url"],
        "username": found["user"],
        "password": found["password"],
        "table-names": [f"shop.{table}" for table in tables],
    }
