"""What tests of the log do with a server: run statements, read the log, and read the tables through ``Jdbc``."""

import itertools
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

import pyarrow as pa
from attrs import field, frozen

from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connectors.jdbc.address import address_of
from seatunnel_core.connectors.jdbc.databases.dialect import dialect_of
from seatunnel_core.connectors.jdbc.fetched import Misfit
from seatunnel_core.connectors.jdbc.source import JdbcSource
from seatunnel_core.connectors.mysql_log.captured_tables import CapturedTables
from seatunnel_core.connectors.mysql_log.change_batch import ChangeBatch, TableChanges
from seatunnel_core.connectors.mysql_log.columns import ValueRules
from seatunnel_core.connectors.mysql_log.declared import DeclaredColumn
from seatunnel_core.connectors.mysql_log.log_decoder import LogDecoder
from seatunnel_core.connectors.mysql_log.position import LogPosition
from seatunnel_core.connectors.mysql_log.server_stream import DumpRequest, ServerStream
from seatunnel_core.rows.kind import RowKind
from tests.servers.mysql_server import GTIDS, LoggingMariaDB, LoggingMySQL, LoggingMySQL57


class FullMariaDB(LoggingMariaDB):
    """MariaDB that logs complete metadata."""

    def __init__(self) -> None:
        super().__init__(settings=("--binlog-row-metadata=FULL",))


class FullMySQL(LoggingMySQL):
    """MySQL 8.0 that logs complete metadata and GTIDs."""

    def __init__(self) -> None:
        super().__init__(settings=("--binlog-row-metadata=FULL", *GTIDS))


class PlainMySQL57(LoggingMySQL57):
    """MySQL 5.7, whose log has no metadata and no GTIDs."""

    def __init__(self) -> None:
        super().__init__(settings=())


SERVERS = {"maria": FullMariaDB, "my8": FullMySQL, "my57": PlainMySQL57}

_server_ids = itertools.count(5_400)

_DECLARED = (
    "SELECT COLUMN_NAME, COLUMN_TYPE, coalesce(CHARACTER_SET_NAME, '') FROM information_schema.COLUMNS "
    "WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = %s ORDER BY ORDINAL_POSITION"
)


@frozen
class LogShop:
    """The database ``shop`` of a server that writes a log."""

    server: Any
    kind: str
    """One of ``SERVERS``."""

    properties: Mapping[str, str] = field(factory=dict)
    """Properties of the source ``Jdbc``."""

    def run(self, *statements: str) -> list[Any]:
        """Run statements in one session, and return the rows of the last one."""
        found: list[Any] = self.server.run(*statements)
        return found

    def position(self) -> LogPosition:
        """Return the end of the log."""
        file, offset, *_ = self.run("SHOW MASTER STATUS")[0]
        return LogPosition(file, offset)

    def declared(self, table: str) -> list[DeclaredColumn]:
        """Return the columns of a table as ``information_schema`` has them."""
        with closing(self.server.connect()) as connection, connection.cursor() as cursor:
            cursor.execute(_DECLARED, (table,))
            return [
                DeclaredColumn(name=_text(name), declared=_text(kind), charset=_text(charset))
                for name, kind, charset in cursor.fetchall()
            ]

    def stream(self, start: Any, *, idle_s: float | None = None, **options: Any) -> ServerStream:
        """Return the log from a position or a set of GTIDs on."""
        request = DumpRequest(start=start, server_id=next(_server_ids), **{"until_now": True, **options})
        return ServerStream(self.server.connect(), request, idle_s=idle_s)

    def batches(self, start: Any, tables: Mapping[str, Sequence[DeclaredColumn]], **options: Any) -> list[ChangeBatch]:
        """Return the batches from a position to the end of the log."""
        captured = CapturedTables({("shop", table): columns for table, columns in tables.items()})
        begin = start if isinstance(start, LogPosition) else LogPosition("", 4)
        stream = self.stream(start)
        try:
            return list(LogDecoder(captured, begin, **options).batches(stream.events()))
        finally:
            stream.close()

    def changes(self, start: Any, table: str, columns: Sequence[DeclaredColumn], **options: Any) -> list[TableChanges]:
        """Return the changes of one table."""
        return [each for batch in self.batches(start, {table: columns}, **options) for each in batch.changes]

    def selected(self, table: str, order: str = "id") -> tuple[pa.RecordBatch, dict[int, Misfit]]:
        """Return the rows of a table as the source ``Jdbc`` reads them, and the values that do not fit."""
        given = {**self.server.options(), "table_path": f"shop.{table}", "properties": dict(self.properties)}
        dialect = dialect_of(address_of(options_of(JdbcSource, given)), 2)
        with dialect.pool.lend() as connection:
            found = dialect.table(connection, ("shop", table))
        assert found is not None
        shown = ", ".join(column.read.replace("{}", f"`{column.name}`") for column in found.columns)
        read = list(dialect.read(f"SELECT {shown} FROM `{table}` ORDER BY {order}", found.columns, 100_000, None))
        dialect.pool.close_idle()
        assert len(read) == 1
        return read[0].rows, dict(read[0].misfits)


def rules_of(properties: Mapping[str, str]) -> ValueRules:
    """Return the rules that belong to properties of ``Jdbc``."""
    zero = properties.get("zeroDateTimeBehavior") == "CONVERT_TO_NULL"
    return ValueRules(zone=properties.get("serverTimezone", "UTC"), zero_is_null=zero)


def images(changes: TableChanges, *kinds: RowKind) -> pa.RecordBatch:
    """Return the rows of some kinds."""
    wanted = [number for number, kind in enumerate(changes.kinds) if kind in kinds]
    return changes.rows.take(pa.array(wanted, pa.int64()))


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
