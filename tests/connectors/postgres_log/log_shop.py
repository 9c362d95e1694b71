"""A PostgreSQL with logical replication, and short names for what tests do with it."""

import itertools
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import define, field

from seatunnel_core.connectors.jdbc.address import Address
from seatunnel_core.connectors.postgres_log.change_batch import ChangeBatch, TableChanges
from seatunnel_core.connectors.postgres_log.lsn import Lsn
from seatunnel_core.connectors.postgres_log.publications import create_publication, drop_publication
from seatunnel_core.connectors.postgres_log.replication import ReplicationConnection
from seatunnel_core.connectors.postgres_log.session import log_parameters, sql_parameters
from seatunnel_core.connectors.postgres_log.slot_reader import SlotReader
from seatunnel_core.connectors.postgres_log.slots import create_slot, drop_slot
from seatunnel_core.connectors.postgres_log.sql_connection import connect
from seatunnel_core.rows.kind import RowKind
from tests.servers.postgres import PASSWORD, USER, Postgres
from tests.servers.process import unavailable

KINDS = {RowKind.INSERT: "+I", RowKind.UPDATE_BEFORE: "-U", RowKind.UPDATE_AFTER: "+U", RowKind.DELETE: "-D"}


class LogPostgres(Postgres):
    """One that writes its log for logical replication."""

    def start(self) -> None:
        super().start()
        with closing(self.connect()) as connection:
            connection.execute("ALTER SYSTEM SET wal_level = logical")
            connection.execute("ALTER SYSTEM SET max_replication_slots = 20")
            connection.execute("ALTER SYSTEM SET max_wal_senders = 20")
        self.restart()


@define
class LogShop:
    """The schema ``shop`` of a server, emptied, with a publication of everything in it."""

    server: LogPostgres
    sql: Any = field(init=False)
    _names: Iterator[int] = field(init=False, factory=lambda: itertools.count(1))
    _slots: list[str] = field(init=False, factory=list)

    def __attrs_post_init__(self) -> None:
        self.sql = connect(sql_parameters(self.address))
        self.run("SET client_min_messages = warning", "DROP SCHEMA IF EXISTS shop CASCADE", "CREATE SCHEMA shop")
        self.run("SET search_path = shop, public")
        drop_publication(self.sql, "shop")
        create_publication(self.sql, "shop", None)

    @property
    def address(self) -> Address:
        return Address(
            kind="postgresql",
            host=self.server.host,
            port=self.server.port,
            database="postgres",
            user=USER,
            password=PASSWORD,
            properties=(),
            timeout_s=10,
        )

    def run(self, *statements: str) -> list[Any]:
        """Run each as a transaction, and return the rows of the last one."""
        for statement in statements:
            cursor = self.sql.execute(statement)
        return list(cursor.fetchall()) if cursor.description else []

    def reconnect(self) -> None:
        """Connect again after a crash of the server."""
        self.sql.close()
        self.sql = connect(sql_parameters(self.address))
        self.run("SET search_path = shop, public")

    def require(self, version: int) -> None:
        """Skip the test on an older version of PostgreSQL."""
        if self.version < version:
            unavailable(f"PostgreSQL {version} has this first")

    @property
    def version(self) -> int:
        return int(self.sql.info.server_version) // 10_000

    def end(self) -> Lsn:
        """Return the end of the log as it is written now; a commit is before it."""
        self.run("SELECT pg_logical_emit_message(true, 'test', '')")
        return Lsn.parse(self.run("SELECT pg_current_wal_flush_lsn()::text")[0][0])

    def slot(self) -> tuple[str, Lsn]:
        """Create a slot, and return its name and start."""
        name = f"shop_{next(self._names)}"
        with ReplicationConnection(log_parameters(self.address)) as log:
            made = create_slot(log, name)
        self._slots.append(name)
        return name, made.consistent_point

    def reader(self, slot: str, start: Lsn, publications: Sequence[str] = ("shop",), **options: Any) -> SlotReader:
        return SlotReader(log_parameters(self.address), self.sql, slot, publications, start, **options)

    def read(self, slot: str, start: Lsn, end: Lsn, **options: Any) -> list[ChangeBatch]:
        with self.reader(slot, start, **options) as reader:
            return list(reader.batches(end))

    @contextmanager
    def logged(self, found: list[ChangeBatch], **options: Any) -> Iterator[None]:
        """Add the batches of everything that is written in the block."""
        name, start = self.slot()
        yield
        found.extend(self.read(name, start, self.end(), **options))

    def close(self) -> None:
        for name in self._slots:
            drop_slot(self.sql, name)
        self.sql.close()


def changes(batches: Sequence[ChangeBatch], table: str = "") -> list[TableChanges]:
    return [each for batch in batches for each in batch.changes if table in ("", each.table.name)]


def rows(batches: Sequence[ChangeBatch], table: str = "") -> list[tuple[Any, ...]]:
    """Return kind and values of each row; absent values are the text ``absent``."""
    found = []
    for each in changes(batches, table):
        arrived = each.layouts[each.layout]
        values = [each.rows.column(number).to_pylist() for number in range(each.rows.num_columns)]
        for number in range(each.rows.num_rows):
            row = [column[number] if there else "absent" for column, there in zip(values, arrived[number], strict=True)]
            found.append((KINDS[RowKind(each.kinds[number])], *row))
    return found


def joined(batches: Sequence[ChangeBatch]) -> pa.Table:
    """Return the rows of all batches, which need to be of one table."""
    return pa.Table.from_batches([each.rows for each in changes(batches)])


def xids(batches: Sequence[ChangeBatch]) -> np.ndarray[Any, np.dtype[np.uint32]]:
    return np.array([each.xid for batch in batches for each in batch.transactions], np.uint32)
