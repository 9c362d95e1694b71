"""Decoded changes: Arrow batches of rows, their transactions, and the statements between them."""

import enum
from collections.abc import Mapping
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import define, field, frozen

from seatunnel_core.connectors.jdbc.fetched import Misfit
from seatunnel_core.connectors.mysql_log import event_types as et
from seatunnel_core.connectors.mysql_log.columns import LogColumn
from seatunnel_core.connectors.mysql_log.events import HEADER, HEADER_BYTES, XaId
from seatunnel_core.connectors.mysql_log.gtid import (
    Gtid,
    MariaGtid,
    alters_nothing,
    commit_time_of_event,
    logged_gtid,
)
from seatunnel_core.connectors.mysql_log.position import LogPosition
from seatunnel_core.connectors.mysql_log.statements import StatementKind


class Outcome(enum.Enum):
    """Outcome of a transaction in the log."""

    OPEN = "open"
    """The transaction ends in a later batch."""

    COMMITTED = "committed"
    PREPARED = "prepared"
    """First phase of a distributed transaction. ``XA_COMMITTED`` or ``XA_ROLLED_BACK`` ends it later."""

    XA_COMMITTED = "xa committed"
    """Commit of the prepared transaction with the same ``xa``, which contains the rows."""

    XA_ROLLED_BACK = "xa rolled back"
    """Rollback of the prepared transaction with the same ``xa``. Discard the rows of that transaction."""


@define(eq=False)
class Transaction:
    """A logged transaction. While it is open, the next batch contains the same object again."""

    number: int
    """Sequence number in the stream, from 0."""

    file: str
    begin_offset: int
    timestamp: int
    """Server time of the transaction's first event, in seconds since 1970."""

    gtid_event: bytes = b""
    """GTID event of the transaction, with its header; empty if there is none."""

    end_file: str = ""
    end_offset: int = 0
    outcome: Outcome = Outcome.OPEN
    xa: XaId | None = None

    @property
    def gtid(self) -> Gtid | MariaGtid | None:
        """Global transaction identifier (GTID); ``None`` if the server assigns none."""
        return logged_gtid(self.gtid_event) if self.gtid_event else None

    @property
    def alters_nothing(self) -> bool:
        """True for an ALTER TABLE that only started or was rolled back (MariaDB's ``binlog_alter_two_phase``)."""
        event = self.gtid_event
        return bool(event) and event[4] == et.MARIA_GTID and alters_nothing(event[HEADER_BYTES:])

    @property
    def server_id(self) -> int:
        """ID of the server that executed the transaction; 0 if the log contains no GTID event."""
        return HEADER.unpack_from(self.gtid_event)[2] if self.gtid_event else 0

    @property
    def commit_micros(self) -> int | None:
        """Commit time on the server, in microseconds since 1970; ``None`` before MySQL 8.0 and for MariaDB."""
        if not self.gtid_event or self.gtid_event[4] not in (et.GTID, et.ANONYMOUS_GTID):
            return None
        return commit_time_of_event(self.gtid_event[HEADER_BYTES:])

    @property
    def begin(self) -> LogPosition:
        """Position of the transaction's first event."""
        return LogPosition(self.file, self.begin_offset)

    @property
    def end(self) -> LogPosition:
        """Position after its last event. Valid once the transaction has ended."""
        return LogPosition(self.end_file, self.end_offset)

    def reaches(self, position: LogPosition) -> bool:
        """Return True if the transaction ends at or after a position. Faster than comparing ``end``."""
        if self.end_file == position.file:
            return self.end_offset >= position.offset
        return self.end >= position

    @property
    def time(self) -> datetime:
        """Server time of the first event."""
        return datetime.fromtimestamp(self.timestamp, UTC)


@frozen(kw_only=True, eq=False)
class LogTable:
    """One schema version of a logged table.

    A new object is created for each version, and after each DDL statement that ended a batch and names the table.
    """

    database: str
    name: str
    columns: tuple[LogColumn, ...] = field(repr=False)
    logged: tuple[LogColumn, ...] = field(repr=False)
    """All columns in the log, including hidden ones."""

    key: tuple[str, ...] | None = None
    """Columns of the primary key; ``None`` if the log does not contain it."""

    schema: pa.Schema = field(repr=False)
    fingerprint: str = ""
    """Fingerprint of the columns and of their metadata in the log. It identifies the schema version."""


@frozen(kw_only=True, eq=False)
class TableChanges:
    """Changed rows of a table, in log order."""

    table: LogTable
    rows: pa.RecordBatch = field(repr=False)
    kinds: npt.NDArray[np.int8] = field(repr=False)
    """``RowKind`` of each row, as a number. An update has two consecutive rows: before and after the change."""

    transactions: npt.NDArray[np.int64] = field(repr=False)
    """For each row, the sequence number of its transaction."""

    events: npt.NDArray[np.int64] = field(repr=False)
    """For each row, the number of its event in the stream. It defines the order of rows of different tables."""

    offsets: npt.NDArray[np.int64] = field(repr=False)
    """File offset of the event of each row."""

    layouts: npt.NDArray[np.bool_] = field(repr=False)
    """Boolean matrix with one row per layout and one column per table column; True if the event contains the column."""

    layout: npt.NDArray[np.int32] = field(repr=False)
    """Index in ``layouts`` for each row."""

    misfits: Mapping[int, Misfit] = field(factory=dict, repr=False)
    """Values that Arrow cannot represent, keyed by row index; they are null in ``rows``."""

    @property
    def complete(self) -> bool:
        """True if no row has an absent value."""
        return bool(self.layouts.all())

    def arrived(self, column: int) -> npt.NDArray[np.bool_]:
        """Return a mask that is False for rows without a value of the column; the value is null in ``rows``."""
        found: npt.NDArray[np.bool_] = self.layouts[self.layout, column]
        return found


@frozen(kw_only=True)
class Statement:
    """A statement that was not logged as changed rows: DDL, such as CREATE TABLE, TRUNCATE or GRANT."""

    kind: StatementKind
    database: str
    """Default database of the session, for unqualified names in the statement."""

    text: str = field(repr=False)
    databases: tuple[str, ...] | None
    """Databases that the statement changes, as logged by MySQL; ``None`` if unknown."""

    transaction: Transaction
    """Transaction that contains the statement."""


class Reason(enum.Enum):
    """Reason for the end of a batch."""

    FULL = "full"
    STATEMENT = "statement"
    IDLE = "idle"
    """The server currently has no further events; the batch may be empty."""

    STOP = "stop"
    """The last transaction to read has ended."""

    END = "end"
    """The stream has ended."""


@frozen(kw_only=True, eq=False)
class ChangeBatch:
    """Consecutive events of the log."""

    reason: Reason
    position: LogPosition
    """Position after the last complete transaction, from which reading can be resumed."""

    transactions: tuple[Transaction, ...]
    """Transactions that began, ended or have rows in the batch, in order. Only the last one may be open."""

    changes: tuple[TableChanges, ...] = ()
    """Rows, grouped by table and schema version."""

    statement: Statement | None = None
    """The statement that ends the batch, if the reason is ``STATEMENT``."""

    rows: int = 0
