"""Decoded changes: Arrow batches of rows, and their transactions."""

import enum
from collections.abc import Mapping
from datetime import datetime

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import define, field, frozen

from seatunnel_core.connectors.jdbc.fetched import Misfit
from seatunnel_core.connectors.postgres_log.log_table import LogTable
from seatunnel_core.connectors.postgres_log.lsn import Lsn
from seatunnel_core.connectors.postgres_log.messages import LogicalMessage, Origin, server_time


@define(eq=False)
class Transaction:
    """A committed transaction. Until its end has been read, each further batch contains the same object."""

    number: int
    """Sequence number in the stream, from 0."""

    xid: int
    """32-bit transaction ID, which is compared with snapshots."""

    commit_position: int
    """Log position of the commit."""

    time_us: int
    """Commit time, in microseconds since 2000."""

    end_position: int = 0
    """Position after the commit; 0 until the end of the transaction has been read."""

    origin: Origin | None = None

    @property
    def complete(self) -> bool:
        """True if all changes of the transaction have been read."""
        return self.end_position > 0

    @property
    def commit_lsn(self) -> Lsn:
        """Position of the commit. A range of the slot contains the transaction if it contains this position."""
        return Lsn(self.commit_position)

    @property
    def end_lsn(self) -> Lsn:
        """Position after the commit, from which reading can be resumed. Valid once the transaction is complete."""
        return Lsn(self.end_position)

    @property
    def time(self) -> datetime:
        """Commit time on the server."""
        return server_time(self.time_us)


@frozen(kw_only=True, eq=False)
class TableChanges:
    """Changed rows of a table, in log order."""

    table: LogTable
    rows: pa.RecordBatch = field(repr=False)
    kinds: npt.NDArray[np.int8] = field(repr=False)
    """``RowKind`` of each row, as a number. The old row of an update precedes its new row if the log contains the old
    row: always with REPLICA IDENTITY FULL, otherwise only if the key has changed, and then only with the key columns.
    """

    transactions: npt.NDArray[np.int64] = field(repr=False)
    """For each row, the sequence number of its transaction."""

    numbers: npt.NDArray[np.int64] = field(repr=False)
    """For each row, the number of its message in the stream. It defines the order of rows of different tables."""

    positions: npt.NDArray[np.uint64] = field(repr=False)
    """Log position of the message of each row."""

    layouts: npt.NDArray[np.bool_] = field(repr=False)
    """Distinct sets of columns in messages: a boolean matrix with one row per set and one column per table column."""

    layout: npt.NDArray[np.int32] = field(repr=False)
    """Index into ``layouts`` for each row."""

    misfits: Mapping[int, Misfit] = field(factory=dict, repr=False)
    """Values that Arrow cannot represent, keyed by row index; they are null in ``rows``."""

    @property
    def complete(self) -> bool:
        """True if no row has an absent value."""
        return bool(self.layouts.all())

    def arrived(self, column: int) -> npt.NDArray[np.bool_]:
        """Return a mask that is False for rows without a value of the column; the value is null in ``rows``.

        The log omits unchanged large (TOAST) values, and non-key columns in old rows.
        """
        found: npt.NDArray[np.bool_] = self.layouts[self.layout, column]
        return found


@frozen(kw_only=True, eq=False)
class Truncation:
    """A TRUNCATE of tables, which follows all rows of the batch."""

    transaction: Transaction
    tables: tuple[LogTable, ...]
    cascade: bool
    restart_identity: bool


@frozen(kw_only=True, eq=False)
class EmittedMessage:
    """A logical message that a client wrote to the log."""

    number: int
    """Number that orders the message among rows: it precedes the row with this number in ``TableChanges.numbers``."""

    transaction: Transaction | None
    """Transaction of the message; ``None`` for a non-transactional message."""

    message: LogicalMessage


class Reason(enum.Enum):
    """Reason for the end of a batch."""

    FULL = "full"
    TRUNCATION = "truncation"
    SHAPE = "shape"
    """The next rows belong to another schema version of a table in the batch."""

    IDLE = "idle"
    """The server currently has no further messages; the batch may be empty."""

    END = "end"
    """The end of the range was reached."""


@frozen(kw_only=True, eq=False)
class ChangeBatch:
    """Consecutive messages of the log."""

    reason: Reason
    position: Lsn
    """Position from which reading can be resumed: all transactions that were committed before it have been read."""

    transactions: tuple[Transaction, ...]
    """Transactions that began, ended or have rows in the batch, in order. Only the last one may be open."""

    changes: tuple[TableChanges, ...] = ()
    """Rows, grouped by table."""

    truncation: Truncation | None = None
    """The TRUNCATE that ends the batch, if the reason is ``TRUNCATE``."""

    messages: tuple[EmittedMessage, ...] = ()
    rows: int = 0
    """Number of rows in ``changes``."""
