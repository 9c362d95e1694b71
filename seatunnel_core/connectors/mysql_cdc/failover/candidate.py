"""Candidate server for a job after a failover, and the reasons why the job cannot continue there."""

from attrs import frozen

from seatunnel_core.capture_errors import LogRemovedError
from seatunnel_core.connector_api.errors import SourceChangedError, SourceError
from seatunnel_core.connectors.mysql_cdc.failover.logged_transactions import executed
from seatunnel_core.connectors.mysql_cdc.server import Server, ServerState
from seatunnel_core.connectors.mysql_log.gtid import Transactions, missing
from seatunnel_core.connectors.mysql_log.position import LogPosition

_FILTERS = tuple(
    f"replicate_{name}" for name in ("do_db", "ignore_db", "do_table", "ignore_table", "wild_do_table",
                                     "wild_ignore_table")
)  # fmt: skip
"""Filters of a replica: global variables of MariaDB, and columns of MySQL's SHOW REPLICA STATUS in this order."""

_FIRST_FILTER = 12
"""Index of the first filter among the columns of SHOW REPLICA STATUS."""


WRITTEN = "that a sink which writes directly may have written to its target"
"""Part of a message about transactions."""


class LaggingReplicaError(SourceError):
    """Error for a replica that has not executed all transactions that the job has read from the former server."""

    retryable = True


@frozen
class Candidate:
    """A server other than the one from which a job has read the log."""

    server: Server
    state: ServerState
    former: str
    """Identity of the former server."""

    def __str__(self) -> str:
        return f"{self.server.dialect.address} ({self.state.identity_variable} = {self.state.identity})"

    def refused(self, reason: str) -> SourceChangedError:
        """Return the error for a job that cannot continue on the server."""
        return SourceChangedError(
            f"{self} is not the server {self.former} from which the job has read the log, and the job cannot continue "
            f"there: {reason}. Restore the url, or start a new job"
        )

    def removed(self, unread: str) -> LogRemovedError:
        """Return the error for a server that has executed unread transactions, but does not have them in its log."""
        return LogRemovedError(
            f"{self} has executed transactions that the job has not read from the server {self.former}, and its log "
            f"does not contain them: {unread}. They were removed together with old log files, or were never logged "
            "there, for example because they were imported. Changes are lost: start a new job. Let all servers keep "
            "their log for longer (binlog_expire_logs_seconds or expire_logs_days)"
        )

    def cut(self, at: LogPosition, end: LogPosition) -> SourceError:
        """Return the retryable error for a log stream that ended before the end of the log."""
        error = SourceError(f"{self} sent its log only up to {at}, but the log ends at {end}; the log is read again")
        error.retryable = True
        return error

    def require_executed(self, read: Transactions, where: str) -> None:
        """Check that the server has executed and logged transactions that the job has read.

        Args:
            read: The transactions.
            where: Part of a sentence that states why the server needs the transactions.

        Raises:
            LaggingReplicaError: The server lacks transactions but may still receive them, because it is a replica.
            SourceChangedError: The server lacks transactions.
        """
        if not (lost := missing(read, executed(self.server, self.state))):
            return
        if self.server.is_replica(self.state):
            raise LaggingReplicaError(
                f"the replica {self} still lacks transactions {where}: {lost}. The job waits until the replica has "
                "executed them. If they were lost with the former server, start a new job"
            )
        raise self.refused(
            f"the log of this server does not contain transactions {where}: {lost}. The target may have changes that "
            "this server does not have"
        )

    def require_unfiltered(self) -> None:
        """Raise ``SourceChangedError`` if the server is a replica with filters, because its log may lack changes."""
        if self.state.is_maria:
            filters = [name for name, value in self.server.settings(_FILTERS).items() if value]
        else:
            columns = slice(_FIRST_FILTER, _FIRST_FILTER + len(_FILTERS))
            rows = [row[columns] for row in self.server.replica_status(self.state)]
            filters = [name for row in rows for name, value in zip(_FILTERS, row, strict=True) if value]
        if filters:
            raise self.refused(
                f"the server has replication filters ({', '.join(dict.fromkeys(filters))}), so its log may lack changes"
            )
