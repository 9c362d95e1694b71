"""Position in the log of a MariaDB server after exactly the transactions that a job has read.

A GTID position has the last transaction of each domain. With ``gtid_strict_mode = ON`` on all servers, which is checked
before, the numbers of a domain increase in each log, and equal GTIDs stand for equal transactions. Let G be the
position that the job has read, and p the returned position. The following is checked:

1. The server has logged everything that it has executed (``gtid_slave_pos`` is not beyond ``gtid_binlog_pos``).
2. Before p, the last transaction of each domain is that of G, with the same server, and no domain is missing.
3. After p, the numbers of each domain continue without a gap: the first one follows the last one in G. A gap would mean
   that the server has executed a transaction without logging it.

By 2, nothing before p is unread. By 1 and 3, everything after G is in the log after p, and nothing else.
"""

from collections.abc import Iterable, Sequence
from contextlib import closing

from attrs import define, field

from seatunnel_core.connectors.mysql_cdc.failover.candidate import WRITTEN, Candidate
from seatunnel_core.connectors.mysql_cdc.failover.logged_transactions import (
    begins_file,
    executed,
    gtid_events,
    transactions_of_earlier_files,
)
from seatunnel_core.connectors.mysql_log.gtid import (
    MariaGtid,
    MariaGtidPosition,
    logged_gtid,
    maria_position_of,
    missing,
)
from seatunnel_core.connectors.mysql_log.logged_gtids import gtids_of_earlier_files
from seatunnel_core.connectors.mysql_log.position import LogPosition


def first_unread(candidate: Candidate, read: MariaGtidPosition, written: object) -> LogPosition:
    """Return the position of the first transaction that is not in a GTID position, or the end of the log.

    Args:
        candidate: The server.
        read: The GTID position.
        written: GTID position up to which a sink that writes directly may have written. The log must contain its
            transactions, because the same numbers may stand for other transactions on a promoted server.

    Raises:
        LogRemovedError: The log does not contain a transaction after the GTID position.
        SourceChangedError: The log does not consist of exactly the transactions of the GTID position and later ones.
        SourceError: The log cannot be read.
    """
    server, state = candidate.server, candidate.state
    assert isinstance(written, MariaGtidPosition), "it is of the same kind"
    replicated = maria_position_of(server.variable("gtid_slave_pos"))  # before the log: it is logged first
    if unlogged := missing(replicated, executed(server, state)):
        raise candidate.refused(f"this server has executed transactions up to {unlogged} without logging them")
    end = server.position(state)
    files = server.files()
    file = _file_of_last(candidate, read, files)
    domains = _Domains(candidate, read, {gtid for gtid in written.last.values() if gtid not in read})
    at, is_first_file = end, True
    with closing(gtid_events(server, file)) as events:
        for at, event in events:
            if begins_file(event):
                if is_first_file:
                    domains.begin(gtids_of_earlier_files(event), is_oldest=file == files[0])
                is_first_file = False
            elif event:
                gtid = logged_gtid(event)
                if not isinstance(gtid, MariaGtid):
                    raise candidate.refused(f"the transaction at {at} in this server's log has no GTID")
                domains.add(gtid, at)
    if at < end or (domains.first is None and at != end):
        raise candidate.cut(at, end)
    if domains.first is None:
        domains.require_read(at)
    if domains.unseen:
        raise candidate.refused(f"this server's log does not contain transactions {WRITTEN}: {_text(domains.unseen)}")
    return domains.first or at


def _file_of_last(candidate: Candidate, read: MariaGtidPosition, files: Sequence[str]) -> str:
    """Return the newest file that may contain a transaction of a GTID position; otherwise the oldest file."""
    for file in reversed(files):
        if missing(read, transactions_of_earlier_files(candidate.server, candidate.state, file)):
            return file
    return files[0]


@define
class _Domains:
    """Last transaction of each domain while the log is read."""

    _candidate: Candidate
    _read: MariaGtidPosition
    unseen: set[MariaGtid]
    """Transactions that the log must contain."""

    _last: dict[int, MariaGtid] = field(factory=dict, init=False)
    first: LogPosition | None = field(default=None, init=False)
    """Position of the first unread transaction."""

    def begin(self, earlier: object, *, is_oldest: bool) -> None:
        """Set the last transactions of earlier files. ``is_oldest`` is True if the server has removed these files."""
        assert isinstance(earlier, MariaGtidPosition), "the log is one of MariaDB"
        self._last = {**earlier.last}
        if unread := [gtid for gtid in earlier.last.values() if gtid not in self._read]:
            if is_oldest:
                raise self._candidate.removed(_text(unread))
            raise self._candidate.refused(
                "this server's log contains unread transactions that precede transactions already read: "
                f"{_text(unread)}"
            )

    def add(self, gtid: MariaGtid, at: LogPosition) -> None:
        """Add the next transaction of the log."""
        last = self._last.get(gtid.domain)
        if last is not None and gtid.sequence <= last.sequence:
            raise self._candidate.refused(f"this server's log is not in GTID order: it has {gtid} at {at} after {last}")
        if gtid not in self._read:
            if self.first is None:
                self.require_read(at)
                self.first = at
            expected = 1 if last is None else last.sequence + 1
            if gtid.sequence != expected:
                raise self._candidate.refused(
                    f"this server's log has {gtid} at {at} after {last or 'no transaction of this domain'}; expected "
                    f"number {expected}. Transactions in between may have been executed without being logged"
                )
        self._last[gtid.domain] = gtid
        self.unseen.discard(gtid)

    def require_read(self, at: LogPosition) -> None:
        """Check that the last transaction of each domain is the last one that was read."""
        if self._last != self._read.last:
            raise self._candidate.refused(
                f"this server's log has other transactions, or another order: up to {at}, it ends with "
                f"{_text(self._last.values())} instead of {self._read}"
            )


def _text(gtids: Iterable[MariaGtid]) -> str:
    return ", ".join(map(str, sorted(gtids))) or "no transaction"
