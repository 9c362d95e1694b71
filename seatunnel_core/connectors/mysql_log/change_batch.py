"""Decoded changes: batches of rows in Arrow, their transactions, and statements between them."""

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
    gtid_of_event,
    gtid_of_tagged_event,
    maria_gtid_of_event,
)
from seatunnel_core.connectors.mysql_log.position import LogPosition
from seatunnel_core.connectors.mysql_log.statements import StatementKind


class Outcome(enum.Enum):
    """End of a transaction in the log."""

    OPEN = "open"
    """The transaction ends in a later batch."""

    COMMITTED = "committed"
    PREPARED = "prepared"
    """First phase of a distributed transaction, which ``XA_COMMITTED`` or ``XA_ROLLED_BACK`` ends later."""

    XA_COMMITTED = "xa committed"
    """Commit of the prepared transaction with the same ``xa``; its rows are in that transaction."""

    XA_ROLLED_BACK = "xa rolled back"
    """Rollback of the prepared transaction with the same ``xa``; discard the rows of that transaction."""


@define(eq=False)
class Transaction:
    """A transaction of the log. While it is open, the next batch contains the same object again."""

    number: int
    """Number in the stream, from 0."""

    file: str
    begin_offset: int
    timestamp: int
    """Time of its first event on the server, in seconds since 1970."""

    _gtid_event: bytes = b""
    """Body of its GTID event; empty if there is none."""

    end_file: str = ""
    end_offset: int = 0
    outcome: Outcome = Outcome.OPEN
    xa: XaId | None = None

    @property
    def gtid(self) -> Gtid | MariaGtid | None:
        """Global identifier; ``None`` if the server assigns none."""
        if not self._gtid_event:
            return None
        _, kind, server_id, *_ = HEADER.unpack_from(self._gtid_event)
        body = self._gtid_event[HEADER_BYTES:]
        if kind == et.MARIA_GTID:
            return maria_gtid_of_event(body, server_id)
        return gtid_of_tagged_event(body) if kind == et.TAGGED_GTID else gtid_of_event(body)

    @property
    def alters_nothing(self) -> bool:
        """True if its ALTER TABLE only starts or is rolled back, in MariaDB with ``binlog_alter_two_phase = ON``."""
        event = self._gtid_event
        return bool(event) and event[4] == et.MARIA_GTID and alters_nothing(event[HEADER_BYTES:])

    @property
    def server_id(self) -> int:
        """Id of the server that executed it; 0 if the log does not contain a GTID event."""
        return HEADER.unpack_from(self._gtid_event)[2] if self._gtid_event else 0

    @property
    def commit_micros(self) -> int | None:
        """Time of the commit on the server, in microseconds since 1970; ``None`` unless it is MySQL 8.0 or later."""
        if not self._gtid_event or self._gtid_event[4] not in (et.GTID, et.ANONYMOUS_GTID):
            return None
        return commit_time_of_event(self._gtid_event[HEADER_BYTES:])

    @property
    def begin(self) -> LogPosition:
        """Position of its first event."""
        return LogPosition(self.file, self.begin_offset)

    @property
    def end(self) -> LogPosition:
        """Position after its last event. Valid once the transaction has ended."""
        return LogPosition(self.end_file, self.end_offset)

    def reaches(self, position: LogPosition) -> bool:
        """Return True if it ends at a position or later. Quicker than a comparison of ``end``."""
        if self.end_file == position.file:
            return self.end_offset >= position.offset
        return self.end >= position

    @property
    def time(self) -> datetime:
        """Time of its first event on the server."""
        return datetime.fromtimestamp(self.timestamp, UTC)


@frozen(kw_only=True, eq=False)
class LogTable:
    """A table of the log with one version of its schema; another version is another object.

    After a DDL statement that ended a batch and refers to the table, there is also a new object.
    """

    database: str
    name: str
    columns: tuple[LogColumn, ...] = field(repr=False)
    logged: tuple[LogColumn, ...] = field(repr=False)
    """All columns of its rows in the log, including hidden ones."""

    key: tuple[str, ...] | None = None
    """Columns of the primary key; ``None`` if the log does not contain it."""

    schema: pa.Schema = field(repr=False)
    fingerprint: str = ""
    """String that identifies the version of the schema: the columns and their metadata in the log."""


@frozen(kw_only=True, eq=False)
class TableChanges:
    """Changed rows of a table, in the order of the log."""

    table: LogTable
    rows: pa.RecordBatch = field(repr=False)
    kinds: npt.NDArray[np.int8] = field(repr=False)
    """``RowKind`` of each row, as a number. An update has two consecutive rows: before and after the change."""

    transactions: npt.NDArray[np.int64] = field(repr=False)
    """``number`` of the transaction of each row."""

    events: npt.NDArray[np.int64] = field(repr=False)
    """Number of the event of each row in the stream, which defines the order of rows of several tables."""

    offsets: npt.NDArray[np.int64] = field(repr=False)
    """For each row the offset of its event in the file of the log."""

    layouts: npt.NDArray[np.bool_] = field(repr=False)
    """True for the columns that an event contains: one row per layout, one column per column of the table."""

    layout: npt.NDArray[np.int32] = field(repr=False)
    """Index of the layout of each row in ``layouts``."""

    misfits: Mapping[int, Misfit] = field(factory=dict, repr=False)
    """Values by row index that rows cannot represent; such a value is null."""

    @property
    def complete(self) -> bool:
        """True if no row has an absent value."""
        return bool(self.layouts.all())

    def arrived(self, column: int) -> npt.NDArray[np.bool_]:
        """Return a mask that is False for rows without a value of the column. These values are null in ``rows``."""
        found: npt.NDArray[np.bool_] = self.layouts[self.layout, column]
        return found


@frozen(kw_only=True)
class Statement:
    """A statement that is not logged as changed rows: DDL, such as CREATE TABLE, TRUNCATE or GRANT."""

    kind: StatementKind
    database: str
    """Default database of the session, for names without a database in the statement."""

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
    """Transactions that began or ended in the batch or have rows in it, in order; only the last one may be open."""

    changes: tuple[TableChanges, ...] = ()
    """Rows, grouped by table and version of its schema."""

    statement: Statement | None = None
    """The statement that ends the batch."""

    rows: int = 0
