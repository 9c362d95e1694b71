"""Decoded changes: batches of rows in Arrow, and their transactions."""

import enum
from collections.abc import Mapping
from datetime import datetime

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import define, field, frozen

from seatunnel_core.connectors.postgres_log.log_table import LogTable
from seatunnel_core.connectors.postgres_log.lsn import Lsn
from seatunnel_core.connectors.postgres_log.messages import LogicalMessage, Origin, server_time


@define(eq=False)
class Transaction:
    """A committed transaction of the log. A later batch contains the same object again while its end was not read."""

    number: int
    """Number in the stream, from 0."""

    xid: int
    """32-bit id of the transaction; a snapshot is compared with it."""

    commit_position: int
    """Position of its commit in the log."""

    time_us: int
    """Time of its commit, in microseconds since 2000."""

    end_position: int = 0
    """Position behind its commit; 0 while its end was not read."""

    origin: Origin | None = None

    @property
    def complete(self) -> bool:
        """True if all of its changes were read."""
        return self.end_position > 0

    @property
    def commit_lsn(self) -> Lsn:
        """Position of its commit: it belongs to the range of a slot that contains this position."""
        return Lsn(self.commit_position)

    @property
    def end_lsn(self) -> Lsn:
        """Position behind its commit, from which reading can continue. Valid if it is complete."""
        return Lsn(self.end_position)

    @property
    def time(self) -> datetime:
        """Time of its commit on the server."""
        return server_time(self.time_us)


@frozen(kw_only=True, eq=False)
class TableChanges:
    """Changed rows of a table, in the order of the log."""

    table: LogTable
    rows: pa.RecordBatch = field(repr=False)
    kinds: npt.NDArray[np.int8] = field(repr=False)
    """A number of ``RowKind`` for each row. The row after an update follows the row before it, if that is in the log:
    with REPLICA IDENTITY FULL, or, reduced to its key, if the key has changed.
    """

    transactions: npt.NDArray[np.int64] = field(repr=False)
    """For each row the ``number`` of its transaction."""

    numbers: npt.NDArray[np.int64] = field(repr=False)
    """For each row the number of its message in the stream, which orders rows of several tables."""

    layouts: npt.NDArray[np.bool_] = field(repr=False)
    """True for columns that the message contains: a row for each layout, a column for each column of the table."""

    layout: npt.NDArray[np.int32] = field(repr=False)
    """For each row the index of its layout in ``layouts``."""

    misfits: Mapping[int, str] = field(factory=dict, repr=False)
    """Messages by row index for values that rows cannot represent; such a value is null."""

    @property
    def complete(self) -> bool:
        """True if no row has an absent value."""
        return bool(self.layouts.all())

    def arrived(self, column: int) -> npt.NDArray[np.bool_]:
        """Return False for each row in which the value of a column is absent, and null in ``rows``.

        Values are absent in two cases: unchanged large (TOAST) values, and columns outside of the key in old rows.
        """
        found: npt.NDArray[np.bool_] = self.layouts[self.layout, column]
        return found


@frozen(kw_only=True, eq=False)
class Truncation:
    """TRUNCATE of tables, after all rows of its batch."""

    transaction: Transaction
    tables: tuple[LogTable, ...]
    cascade: bool
    restart_identity: bool


@frozen(kw_only=True, eq=False)
class EmittedMessage:
    """A message that a client wrote to the log."""

    number: int
    """Its place among the rows: before the one with the same number in ``TableChanges.numbers``."""

    transaction: Transaction | None
    """``None`` for a message that is not part of a transaction."""

    message: LogicalMessage


class Reason(enum.Enum):
    """Cause of the end of a batch."""

    FULL = "full"
    TRUNCATION = "truncation"
    SHAPE = "shape"
    """The rows that follow belong to another shape of a table in the batch."""

    IDLE = "idle"
    """The server has no further messages at the moment; the batch may be empty."""

    END = "end"
    """The end of the range was reached."""


@frozen(kw_only=True, eq=False)
class ChangeBatch:
    """Consecutive messages of the log."""

    reason: Reason
    position: Lsn
    """All transactions that were committed before it were read: reading may start again here."""

    transactions: tuple[Transaction, ...]
    """Transactions that began or ended in the batch or have rows in it, in order; only the last one may be open."""

    changes: tuple[TableChanges, ...] = ()
    """Rows, once for each table."""

    truncation: Truncation | None = None
    """The TRUNCATE that ends the batch."""

    messages: tuple[EmittedMessage, ...] = ()
    rows: int = 0
    """Number of rows in ``changes``."""
