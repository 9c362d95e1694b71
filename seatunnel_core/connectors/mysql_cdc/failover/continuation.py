"""Continuation of a job at another server that has all transactions which the job has read."""

from collections.abc import Mapping
from contextlib import closing
from typing import Any

from attrs import evolve, frozen

from seatunnel_core import stored
from seatunnel_core.capture_errors import LogRemovedError
from seatunnel_core.connector_api.errors import SourceChangedError
from seatunnel_core.connectors.mysql_cdc.failover.logged_transactions import (
    begins_file,
    executed,
    gtid_events,
    transactions_of_earlier_files,
)
from seatunnel_core.connectors.mysql_cdc.progress import Progress
from seatunnel_core.connectors.mysql_cdc.server import Server, ServerState
from seatunnel_core.connectors.mysql_log.gtid import (
    GtidSet,
    Transactions,
    contains,
    gtid_set_of,
    logged_gtid,
    missing,
    transactions_of,
)
from seatunnel_core.connectors.mysql_log.logged_gtids import LoggedGtids, gtids_of_earlier_files
from seatunnel_core.connectors.mysql_log.position import LogPosition, position_of

_ON = ("1", "ON")


@frozen
class Continuation:
    """A job that has read transactions from a former server, and the server at which it continues."""

    server: Server
    state: ServerState
    former: str
    """Identity of the former server."""

    @property
    def _here(self) -> str:
        return f"{self.server.dialect.address} ({self.state.identity_variable} = {self.state.identity})"

    def refused(self, reason: str) -> SourceChangedError:
        """Return the error for a job that cannot continue at the server."""
        return SourceChangedError(
            f"{self._here} is not the server {self.former} from which the job has read the log, and the job cannot "
            f"continue there: {reason}. Restore the url, or start a new job"
        )

    def require(self, progress: Progress, *, has_end: bool) -> None:
        """Raise ``SourceChangedError`` for progress that cannot be continued at another server.

        Args:
            progress: The progress, with positions of the former server.
            has_end: True if the options contain the position at which the job ends.
        """
        if not self.state.has_gtids:
            raise self.refused("this server has no GTIDs, and positions in the log are only valid on one server")
        if progress.is_copying:
            raise self.refused("its tables were being copied from the former server")
        if progress.gtids is None:
            raise self.refused("the GTIDs of the transactions that it has read are unknown")
        if progress.gtids and (":" in progress.gtids) == self.state.is_maria:
            raise self.refused("MySQL and MariaDB have different GTIDs")
        if not progress.gtids:
            raise self.refused("it has read no transaction that could show whether both servers have the same data")
        if has_end:
            raise self.refused("the position at which it ends (stop.mode) is only valid on the former server")
        if progress.stopped or (progress.defined is not None and progress.log < progress.defined):
            raise self.refused("it has not passed a change of columns in the log of the former server")
        if reading := [each.table for each in progress.rereads if each.next]:
            raise self.refused(f"it was reading the table {reading[0]} again")

    def continued(self, progress: Progress) -> Progress:
        """Return the progress with positions of the server.

        Raises:
            SourceChangedError: The server lacks transactions that were read, or has logged them in another order.
        """
        assert progress.gtids is not None, "the progress was checked"
        log = self.located(progress.gtids)
        return evolve(progress, server=self.state.identity, log=log, reading=None, stop=None, defined=None)

    def range_in_flight(self, body: Mapping[str, Any]) -> tuple[LogPosition, LogPosition]:
        """Return the range to read instead of a range that was planned for the former server.

        Raises:
            SourceChangedError: The job cannot continue at the server.
        """
        if "window" in body:
            raise self.refused("its tables were being copied from the former server")
        if not body.get("gtids"):
            raise self.refused("the GTIDs of the transactions that it has read are unknown")
        start = self.located(stored.text(body, "gtids"))
        return start, self.server.position(self.state)

    def located(self, gtids: str) -> LogPosition:
        """Return the position in the log of the server up to which it contains exactly the transactions that were read.

        Raises:
            LogRemovedError: The server no longer has the log of transactions that were not read.
            SourceChangedError: The server lacks transactions that were read, or has logged them in another order.
        """
        read = transactions_of(gtids, is_maria=self.state.is_maria)
        if lost := missing(read, executed(self.server, self.state)):
            raise SourceChangedError(
                f"the log of {self._here} lacks transactions that the job has read from the server {self.former}: "
                f"{lost}. If the server still receives them, resume the job later; otherwise start a new job, because "
                "the target has changes that this server does not have"
            )
        if self.state.is_maria and self.server.variable("gtid_strict_mode").upper() not in _ON:
            raise self.refused("the order of GTIDs is only certain if all servers have gtid_strict_mode = ON")
        position, before = self._first_unread(read)
        if isinstance(before, GtidSet) and isinstance(read, GtidSet):
            passed = before | gtid_set_of(self.server.variable("gtid_purged"))
            if lost := missing(passed, read):
                raise self._removed(lost)
            late = missing(read, passed)
            difference = f"lacks {late}" if late else ""
        else:
            difference = "" if before == read else f"ends with {before} instead of {read}"
        if difference:
            raise self.refused(
                f"its log has other transactions, or another order: up to {position}, where the first unread "
                f"transaction begins, it {difference}"
            )
        return position

    def _first_unread(self, read: Transactions) -> tuple[LogPosition, Transactions]:
        """Return the position of the first transaction that was not read, or the end; and the transactions before."""
        base, gtids = transactions_of("", is_maria=self.state.is_maria), LoggedGtids()
        with closing(gtid_events(self.server, self._last_file(read))) as events:
            for at, event in events:
                if begins_file(event):
                    base, gtids = gtids_of_earlier_files(event), LoggedGtids()
                elif not event or not contains(read, logged_gtid(event)):
                    return at, gtids.after(base)
                else:
                    gtids.add_event(event)
        raise AssertionError("the last item has no event")

    def _last_file(self, read: Transactions) -> str:
        """Return the last log file before which all transactions were read."""
        lost = ""
        for file in reversed(self.server.files()):
            earlier = transactions_of_earlier_files(self.server, self.state, file)
            if not (lost := missing(earlier, read)):
                return file
        raise self._removed(lost)

    def _removed(self, lost: str) -> LogRemovedError:
        return LogRemovedError(
            f"{self._here} does not have the transactions {lost} in its log, which the job has not read from the "
            f"server {self.former}, so changes are lost. Start a new job, and let all servers keep their log for "
            "longer (binlog_expire_logs_seconds or expire_logs_days)"
        )

    def moved(self) -> str:
        """Return the warning about a job that continues at another server."""
        return f"reading continues at {self._here}, which has all transactions that were read from {self.former}"


def continuation_of(server: Server, state: ServerState, progress: Progress, *, has_end: bool) -> Continuation | None:
    """Return the continuation of progress at another server; ``None`` if the server is the one of the progress.

    Raises:
        SourceChangedError: The progress cannot be continued at another server.
    """
    if progress.server == state.identity:
        return None
    found = Continuation(server, state, progress.server)
    found.require(progress, has_end=has_end)
    return found


def range_of(server: Server, state: ServerState, body: Mapping[str, Any]) -> tuple[LogPosition, LogPosition]:
    """Return the positions between which a planned range is read at a server.

    Raises:
        SourceChangedError: The range was planned for another server, and cannot be read at this one.
    """
    planned_for = body.get("server", state.identity)  # earlier versions did not store the server
    if planned_for != state.identity:
        return Continuation(server, state, planned_for).range_in_flight(body)
    return position_of(stored.text(body, "from")), position_of(stored.text(body, "to"))
