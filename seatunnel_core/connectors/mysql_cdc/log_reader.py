"""Reader of a range of the log."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing

import numpy as np
from attrs import define, field, frozen

from seatunnel_core.capture_errors import CaptureSetupError, LogRemovedError
from seatunnel_core.connector_api.errors import SourceError
from seatunnel_core.connectors.mysql_cdc.log_stream import log_stream
from seatunnel_core.connectors.mysql_cdc.server import Server
from seatunnel_core.connectors.mysql_log.captured_tables import Tables
from seatunnel_core.connectors.mysql_log.change_batch import ChangeBatch, Outcome, Reason, Transaction
from seatunnel_core.connectors.mysql_log.columns import ValueRules
from seatunnel_core.connectors.mysql_log.errors import LogError, LogServerError
from seatunnel_core.connectors.mysql_log.gtid import GtidSet
from seatunnel_core.connectors.mysql_log.log_decoder import LogDecoder
from seatunnel_core.connectors.mysql_log.position import LogPosition

_NOT_READABLE = 1236
_DENIED = (1045, 1227)
_PAUSE_S = 0.02
PATIENCE_S = 60.0
"""Maximum time to wait for events up to the end of the log, in seconds."""


@frozen(kw_only=True)
class LogReader:
    """Reads the log over a separate connection."""

    server: Server
    tables: Tables = field(repr=False)
    rules: ValueRules = field(factory=ValueRules)
    clock: Callable[[], float] = time.monotonic

    def batches(
        self,
        start: LogPosition | GtidSet,
        end: LogPosition,
        *,
        limit_bytes: int | None = None,
        distributed: "Distributed | None" = None,
    ) -> Iterator[ChangeBatch]:
        """Yield the batches up to a position, including the last transaction that begins before it.

        Args:
            start: Position of the first event, or the GTIDs of the transactions to skip. Skipped transactions may be
                yielded again.
            end: End of the range. It need not be a transaction boundary.
            limit_bytes: Total size of transactions after which reading ends early; ``None`` for no limit.
            distributed: Distributed transactions prepared before the start; updated while reading.

        Raises:
            LogRemovedError: The log no longer contains these events.
            SourceError: The log cannot be read or decoded, or ends inside a transaction.
        """
        until = self.clock() + PATIENCE_S
        at, distributed = start, distributed or Distributed()
        while True:
            reason, position = Reason.END, end
            for batch in self._stream(at, end, limit_bytes):
                distributed.check(batch)
                yield batch
                reason, position = batch.reason, batch.position
            if reason is not Reason.END or position >= end:
                return
            if distributed.has_open_rows:
                raise self._ended_early(position)
            if self.clock() > until:
                raise self._late(position, end)
            if isinstance(at, LogPosition):
                at = position
            time.sleep(_PAUSE_S)

    def _stream(self, start: LogPosition | GtidSet, end: LogPosition, limit_bytes: int | None) -> Iterator[ChangeBatch]:
        size = 0

        def is_last(transaction: Transaction) -> bool:
            nonlocal size
            size += max(0, transaction.end_offset - transaction.begin_offset)
            return transaction.reaches(end) or (limit_bytes is not None and size >= limit_bytes)

        begin = start if isinstance(start, LogPosition) else LogPosition("", 4)
        decoder = LogDecoder(self.tables, begin, rules=self.rules, stop=is_last)
        try:
            with closing(log_stream(self.server, start)) as stream:
                for batch in decoder.batches(stream.events()):
                    yield batch
                    if batch.reason is Reason.STATEMENT and batch.position >= end:
                        return
        except LogServerError as error:
            raise self._refused(start, error) from error
        except SourceError:
            raise
        except Exception as error:
            raise self.server.failed("the log of the server cannot be read", error) from error

    def _refused(self, start: object, error: LogServerError) -> SourceError:
        address = self.server.dialect.address
        if error.number in _DENIED:
            return CaptureSetupError(
                f"{address}: the user lacks the privilege REPLICATION SLAVE; run GRANT REPLICATION SLAVE ON *.* TO "
                "this user"
            )
        if error.number != _NOT_READABLE or not self._is_lost(start, error):
            return SourceError(f"{address}: the log of the server cannot be read from {start}: {error}")
        return LogRemovedError(
            f"{address} no longer has its log from {start}, so changes are lost ({error}). Start a new job, and let "
            "the server keep its log for longer (binlog_expire_logs_seconds or expire_logs_days)"
        )

    def _is_lost(self, start: object, error: LogServerError) -> bool:
        """Return True if the server has removed the log at the start; the error number alone is ambiguous."""
        if isinstance(start, LogPosition):
            return start.file not in self.server.files()
        return "purged" in str(error).lower()

    def _ended_early(self, position: LogPosition) -> LogError:
        """Return the error for a stream that ended inside a transaction with rows that were already yielded."""
        error = LogError(
            f"{self.server.dialect.address} ended the log stream inside the transaction at {position}, for example "
            "because the reader's query was killed; reading starts over"
        )
        error.retryable = True
        return error

    def _late(self, position: LogPosition, end: LogPosition) -> LogError:
        error = LogError(
            f"{self.server.dialect.address} sent its log only up to {position} within {PATIENCE_S:.0f} s; expected "
            f"the log up to {end}"
        )
        error.retryable = True
        return error


@define
class Distributed:
    """Distributed (XA) transactions in the log. Those that may have changed captured tables are rejected."""

    prepared: set[str] = field(factory=set)
    """Prepared transactions that have not ended and contain no rows of captured tables."""

    seen_from: LogPosition | None = None
    """Position from which another reader checks commits of transactions that were prepared before the start."""

    is_checked: bool = False
    """True if other readers check all commits of such transactions."""

    _with_rows: set[int] = field(factory=set, init=False)
    """Numbers of the open transactions of the last batch that contain rows of captured tables."""

    @property
    def has_open_rows(self) -> bool:
        """True if the last batch ends inside a transaction with rows of captured tables."""
        return bool(self._with_rows)

    def check(self, batch: ChangeBatch) -> None:
        """Raise SourceError if a batch contains a distributed transaction that may have changed captured tables."""
        unusual = [each for each in batch.transactions if each.outcome is not Outcome.COMMITTED]
        if unusual:
            for changes in batch.changes:
                self._with_rows.update(np.unique(changes.transactions).tolist())
        for each in unusual:
            name = str(each.xa)
            if each.outcome is Outcome.PREPARED and each.number not in self._with_rows:
                self.prepared.add(name)
            elif each.outcome in (Outcome.XA_COMMITTED, Outcome.XA_ROLLED_BACK) and name in self.prepared:
                self.prepared.remove(name)
            elif each.outcome is Outcome.PREPARED or (each.outcome is Outcome.XA_COMMITTED and not self._is_seen(each)):
                raise SourceError(
                    f"the transaction at {each.begin} is distributed (XA), and may have changed captured tables. "
                    "Distributed transactions are not supported; start a new job after they have ended"
                )
        self._with_rows &= {each.number for each in unusual if each.outcome is Outcome.OPEN}

    def _is_seen(self, each: Transaction) -> bool:
        return self.is_checked or (self.seen_from is not None and each.begin >= self.seen_from)
