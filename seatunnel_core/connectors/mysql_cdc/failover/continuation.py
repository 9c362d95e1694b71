"""Continuation of a job on another server that has all transactions that the job has read.

Only a poll moves a job to another server, and only while no range of the log is being read. A range that was planned
for the former server is not read from another server: its reader reports that it has read nothing.
"""

from collections.abc import Sequence

from attrs import evolve, frozen

from seatunnel_core.connector_api.errors import SourceChangedError
from seatunnel_core.connectors.change_data.column_rules import ColumnRules
from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.connectors.mysql_cdc.failover import maria_history, mysql_history
from seatunnel_core.connectors.mysql_cdc.failover.candidate import WRITTEN, Candidate
from seatunnel_core.connectors.mysql_cdc.failover.logged_transactions import executed, transactions_before
from seatunnel_core.connectors.mysql_cdc.failover.readiness import obstacle
from seatunnel_core.connectors.mysql_cdc.progress import Progress
from seatunnel_core.connectors.mysql_cdc.recorded_tables import changed_columns, known_tables
from seatunnel_core.connectors.mysql_cdc.server import Server, ServerState
from seatunnel_core.connectors.mysql_log.errors import LogServerError, UnsupportedLogError
from seatunnel_core.connectors.mysql_log.gtid import GtidSet, Transactions, missing, transactions_of

COPIED = "the tables were being copied from the former server"
UNKNOWN = (
    "the GTIDs of the transactions that the job has read are unknown, because gtid_mode was not ON when the job was "
    "last started or resumed, because the log contained transactions without GTIDs, or because an earlier version "
    "wrote the checkpoint"
)


@frozen
class Continuation:
    """Progress of a job on its former server, and the server on which it may continue."""

    candidate: Candidate
    progress: Progress

    def require_possible(self, *, is_bounded: bool) -> None:
        """Raise ``SourceChangedError`` if the progress can never be continued on another server.

        Args:
            is_bounded: True if the options define an end of the job.
        """
        refused, state, progress = self.candidate.refused, self.candidate.state, self.progress
        if found := obstacle(self.candidate.server, state):
            raise refused(f"{found}, and positions in the log are only valid on one server")
        if progress.is_copying:
            raise refused(COPIED)
        if progress.gtids is None:
            raise refused(UNKNOWN)
        if progress.gtids and (":" in progress.gtids) == state.is_maria:
            raise refused("MySQL and MariaDB have different GTIDs")
        if not progress.gtids:
            raise refused("the job has not read any transaction yet, so the data of the servers cannot be compared")
        if is_bounded or progress.stop is not None:
            raise refused("the job ends by itself (stop.mode), but its end can only be determined on the former server")
        if progress.stopped or (progress.defined is not None and progress.log < progress.defined):
            raise refused("the job has not read past a change of columns in the log of the former server")
        if reading := [each.table for each in progress.rereads if each.next]:
            raise refused(f"the job was rereading the table {reading[0]}")

    def require_executed(self) -> None:
        """Check that the server has all transactions that the job has read.

        Raises:
            LaggingReplicaError: The server lacks transactions, but may still receive them.
            SourceChangedError: The server lacks transactions.
        """
        self.candidate.require_executed(
            self._transactions(self.progress.gtids or ""),
            f"that the job has read from the server {self.candidate.former}",
        )

    def continued(self, written: str | None = None, *, writes_directly: bool = False) -> Progress:
        """Return the progress with log positions of the new server.

        Args:
            written: Transactions of the former server that this process may have read; ``None`` if they are unknown.
            writes_directly: True if a sink that writes directly may have written them.

        Raises:
            LaggingReplicaError: The server lacks transactions that were read, but may still receive them.
            LogRemovedError: The server no longer has the log of transactions that were not read.
            SourceChangedError: The server lacks transactions that were read, or its log does not continue after them.
            SourceError: The log cannot be read.
        """
        self.candidate.require_unfiltered()
        self.require_executed()
        read = self._transactions(self.progress.gtids or "")
        also = self._written(written) if writes_directly else read
        try:
            if isinstance(read, GtidSet):
                log = mysql_history.first_unread(self.candidate, read, self.progress.last)
            else:
                log = maria_history.first_unread(self.candidate, read, also)
        except (UnsupportedLogError, LogServerError) as error:  # MySQL does not send transactions without GTIDs
            raise self.candidate.refused(f"this server's log cannot be compared: {error}") from error
        return evolve(self.progress, server=self.candidate.state.identity, log=log, last="", defined=None)

    def _written(self, written: str | None) -> Transactions:
        """Return the transactions that a sink may have written; the server must have executed them."""
        if written is None:
            raise self.candidate.refused(
                "a sink writes directly, so it may have written changes after the last checkpoint, and it is unknown "
                "whether this server has them. Only sinks with exactly-once delivery allow this (is_exactly_once = "
                "true for Jdbc)"
            )
        found = self._transactions(written)
        self.candidate.require_executed(found, WRITTEN)
        return found

    def same_tables(self, record: bytes, tables: Sequence[Found], rules: ColumnRules) -> list[Found]:
        """Return the captured tables of the server, which must have the recorded columns.

        Raises:
            SourceChangedError: Columns or keys have changed.
        """
        logs_names = self.candidate.state.logs_names
        found = known_tables(record, tables, rules, logs_names=logs_names, is_copying=False)
        if changed := changed_columns(record, found):
            raise self.candidate.refused(f"columns of {', '.join(changed)} have changed")
        return found

    def moved(self) -> str:
        """Return the warning about a job that continues on another server."""
        return (
            f"reading continues at {self.candidate}, which has all transactions that were read from the server "
            f"{self.candidate.former}"
        )

    def _transactions(self, text: str) -> Transactions:
        return transactions_of(text, is_maria=self.candidate.state.is_maria)


def continuation_of(server: Server, state: ServerState, progress: Progress, *, is_bounded: bool) -> Continuation | None:
    """Return the continuation of the progress on another server; ``None`` if the progress belongs to this server.

    Raises:
        SourceChangedError: The progress can never be continued at another server.
    """
    if progress.server == state.identity:
        return None
    found = Continuation(Candidate(server, state, progress.server), progress)
    found.require_possible(is_bounded=is_bounded)
    return found


def require_same_log(server: Server, state: ServerState, progress: Progress) -> None:
    """Check that the server's log still contains exactly the transactions that were read, up to the known position.

    A server that was restored from a backup has the same identity, but it may have other transactions.

    Raises:
        SourceChangedError: The log contains other transactions.
        SourceError: The log cannot be read.
    """
    if progress.gtids is None or not state.has_gtids:
        return
    read = transactions_of(progress.gtids, is_maria=state.is_maria)
    if lost := missing(read, executed(server, state)):
        difference = f"it lacks the transactions {lost}"
    elif (end := server.position(state)) < progress.log:
        difference = f"it ends at {end}"
    else:
        found = transactions_before(server, state, progress.log, reads_log=True)
        if found is None or (found.transactions == read and progress.last in ("", found.last or progress.last)):
            return
        before = found.transactions
        differing = missing(before, read) or missing(read, before) or progress.last.partition("/")[0] or before
        difference = f"the transactions {differing} are different"
    raise SourceChangedError(
        f"the log of {server.dialect.address} ({state.identity_variable} = {state.identity}) is not the one from which "
        f"the job has read up to {progress.log}: {difference}. The server was restored from a backup, its log was "
        "reset, or the end of its log was lost in a crash (sync_binlog), so changes may be lost. Start a new job"
    )
