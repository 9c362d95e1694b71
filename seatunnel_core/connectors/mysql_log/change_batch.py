"""Decoded changes: batches of rows in Arrow, their transactions, and statements between them."""

import enum
from collections.abc import Mapping
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import define, field, frozen

from seatunnel_core.connectors.mysql_log import event_types as et
from seatunnel_core.connectors.mysql_log.columns import LogColumn
from seatunnel_core.connectors.mysql_log.events import HEADER, HEADER_BYTES, XaId
from seatunnel_core.connectors.mysql_log.gtid import (
    Gtid,
    MariaGtid,
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
    """Its end follows in a later batch."""

    COMMITTED = "committed"
    PREPARED = "prepared"
    """The first phase of a distributed transaction: a later XA_COMMITTED or XA_ROLLED_BACK decides."""

    XA_COMMITTED = "xa committed"
    """It has no rows; those of the prepared transaction with the same ``xa`` become valid."""

    XA_ROLLED_BACK = "xa rolled back"
    """It has no rows; those of the prepared transaction with the same ``xa`` become void."""


@define(eq=False)
class Transaction:
    """A transaction of the log. A later batch contains the same object again while it is open."""

    number: int
    """Number in the stream, from 0."""

    file: str
    begin_offset: int
    timestamp: int
    """Time of its first event on the server, in seconds since 1970."""

    _gtid_event: bytes = b""
    """Its GTID event, or nothing."""

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
        """Position behind its last event. Valid unless it is open."""
        return LogPosition(self.end_file, self.end_offset)

    @property
    def time(self) -> datetime:
        """Time of its first event on the server."""
        return datetime.fromtimestamp(self.timestamp, UTC)


@frozen(kw_only=True, eq=False)
class LogTable:
    """A table of the log in one shape.

    Another shape of the same table is another object. So is a table after a definition that ended a batch and names it.
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
    """Text that differs for other shapes of the table in the log: its columns and their metadata in the log."""


@frozen(kw_only=True, eq=False)
class TableChanges:
    """Changed rows of a table, in the order of the log."""

    table: LogTable
    rows: pa.RecordBatch = field(repr=False)
    kinds: npt.NDArray[np.int8] = field(repr=False)
    """A number of ``RowKind`` for each row. An update has two neighbours: the row before and after it."""

    transactions: npt.NDArray[np.int64] = field(repr=False)
    """For each row the ``number`` of its transaction."""

    events: npt.NDArray[np.int64] = field(repr=False)
    """For each row the number of its event in the stream, which orders rows of several tables."""

    layouts: npt.NDArray[np.bool_] = field(repr=False)
    """True for columns that the event contains: a row for each layout, a column for each column of the table."""

    layout: npt.NDArray[np.int32] = field(repr=False)
    """For each row the index of its layout in ``layouts``."""

    misfits: Mapping[int, str] = field(factory=dict, repr=False)
    """Messages by row index for values that Arrow cannot represent; such a value is null."""

    @property
    def complete(self) -> bool:
        """True if no row has an absent value."""
        return bool(self.layouts.all())

    def arrived(self, column: int) -> npt.NDArray[np.bool_]:
        """Return False for each row in which the value of a column is absent, and null in ``rows``."""
        found: npt.NDArray[np.bool_] = self.layouts[self.layout, column]
        return found


@frozen(kw_only=True)
class Statement:
    """A statement that is no change of rows: the definition of a table, a TRUNCATE, a GRANT."""

    kind: StatementKind
    database: str
    """Default database of the session; names without a database in the text mean this one."""

    text: str = field(repr=False)
    databases: tuple[str, ...] | None
    """Databases that it changes, as MySQL logs them; ``None`` if they are not known."""

    transaction: Transaction
    """Its own transaction, or the one that it is a part of."""


class Reason(enum.Enum):
    """Cause of the end of a batch."""

    FULL = "full"
    STATEMENT = "statement"
    IDLE = "idle"
    """The server has no further events at the moment; the batch may be empty."""

    STOP = "stop"
    """The transaction after which reading was to stop has ended."""

    END = "end"
    """The stream has ended."""


@frozen(kw_only=True, eq=False)
class ChangeBatch:
    """Consecutive events of the log."""

    reason: Reason
    position: LogPosition
    """Position behind the last complete transaction: reading may start again here."""

    transactions: tuple[Transaction, ...]
    """Transactions that began or ended in the batch or have rows in it, in order; only the last one may be open."""

    changes: tuple[TableChanges, ...] = ()
    """Rows, once for each table and shape."""

    statement: Statement | None = None
    """The statement that ends the batch."""

    rows: int = 0
