"""Position in the log of a MySQL server after exactly the transactions that a job has read.

Let G be the set of the transactions that the job has read, and p the returned position. The server logs each
transaction of a GTID at most once. The following is checked:

1. Transactions that the server has executed and that are no longer, or were never, in its log (``gtid_purged``) are in
   G.
2. All transactions before p are in G, and together with ``gtid_purged`` they are all of G.
3. No transaction after p is in G.
4. The last transaction that the job has read has the same commit time (MySQL 8.0 and later). A server that was restored
   from a backup assigns GTIDs again.
5. Each transaction from the file of the last transaction in G to the end of the log has a GTID.

By 2, nothing before p is unread. By 1 and 2, everything that the server has executed and that is not in G is in the log
after p. By 3 and 5, nothing after p was read before.
"""

from contextlib import closing

from seatunnel_core.connectors.mysql_cdc.failover.candidate import Candidate
from seatunnel_core.connectors.mysql_cdc.failover.logged_transactions import (
    begins_file,
    gtid_events,
    purged,
    transactions_of_earlier_files,
)
from seatunnel_core.connectors.mysql_log.gtid import GtidSet, contains, logged_gtid, missing
from seatunnel_core.connectors.mysql_log.logged_gtids import LoggedGtids, gtids_of_earlier_files, is_other_transaction
from seatunnel_core.connectors.mysql_log.position import LogPosition


def first_unread(candidate: Candidate, read: GtidSet, last: str) -> LogPosition:
    """Return the position of the first transaction that is not in a set, or the end of the log.

    Args:
        candidate: The server.
        read: The set.
        last: Last transaction in the log of the former server; empty if it is unknown.

    Raises:
        LogRemovedError: The log does not contain a transaction that is not in the set.
        SourceChangedError: The log does not consist of exactly these transactions and later ones.
        SourceError: The log cannot be read.
    """
    gone = purged(candidate.server)  # before the log is read, because more files may be removed
    if unread := missing(gone, read):
        raise candidate.removed(unread)
    end = candidate.server.position(candidate.state)
    before, logged = gone, LoggedGtids()
    first: LogPosition | None = None
    at, is_first_file = end, True
    with closing(gtid_events(candidate.server, _file_of_last(candidate, read, gone))) as events:
        for at, event in events:
            if begins_file(event):
                if is_first_file:
                    before = _union(before, gtids_of_earlier_files(event))
                is_first_file = False
            elif event:
                gtid = logged_gtid(event)
                if gtid is None:
                    raise candidate.refused(
                        f"the transaction at {at} in this server's log has no GTID, so it is unknown whether the job "
                        "has read it. gtid_mode was not ON at that time"
                    )
                if not contains(read, gtid):
                    first = first or at
                elif first is not None:
                    raise candidate.refused(f"{gtid}, which was read, is after an unread transaction at {first}")
                else:
                    logged.add_event(event)
                    if last.startswith(f"{gtid}/") and is_other_transaction(event, last):
                        raise candidate.refused(f"{gtid} in this server's log is not the transaction that was read")
    if at < end or (first is None and at != end):
        raise candidate.cut(at, end)
    passed = logged.after(before)
    if unread := missing(passed, read):
        raise candidate.refused(
            f"this server's log contains unread transactions that precede transactions already read: {unread}"
        )
    if late := missing(read, passed):
        raise candidate.refused(f"up to {first or at}, this server's log lacks transactions that were read: {late}")
    return first or at


def _file_of_last(candidate: Candidate, read: GtidSet, gone: GtidSet) -> str:
    """Return the newest file that may contain a transaction of a set; the oldest file if there is no such file."""
    files = candidate.server.files()
    for file in reversed(files):
        earlier = transactions_of_earlier_files(candidate.server, candidate.state, file)
        if missing(read, _union(gone, earlier)):
            return file
    return files[0]


def _union(one: GtidSet, other: object) -> GtidSet:
    assert isinstance(other, GtidSet), "the log is one of MySQL"
    return one | other
