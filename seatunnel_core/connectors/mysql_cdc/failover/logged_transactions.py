"""Transactions in the log of a server, and transactions before a log position."""

import re
from collections.abc import Generator
from contextlib import closing
from zlib import crc32

from attrs import frozen

from seatunnel_core.connector_api.errors import SourceError
from seatunnel_core.connectors.mysql_cdc.log_stream import log_stream
from seatunnel_core.connectors.mysql_cdc.server import Server, ServerReplacedError, ServerState
from seatunnel_core.connectors.mysql_log import event_types as et
from seatunnel_core.connectors.mysql_log.events import CHECKED, CHECKSUM_BYTES, HEADER, HEADER_BYTES, rotate_of
from seatunnel_core.connectors.mysql_log.gtid import GtidSet, Transactions, gtid_set_of, transactions_of
from seatunnel_core.connectors.mysql_log.logged_gtids import LoggedGtids, LoggedTransaction, gtids_of_earlier_files
from seatunnel_core.connectors.mysql_log.position import LogPosition, unwrapped

_FIRST_OFFSET = 4
_OWNER = re.compile(r"#\d+")
"""ID of the session that executes a transaction, in ``gtid_owned``."""

_BEGINS_FILE = (et.PREVIOUS_GTIDS, et.MARIA_GTID_LIST)
_OF_GTIDS = (*_BEGINS_FILE, et.GTID, et.ANONYMOUS_GTID, et.TAGGED_GTID, et.MARIA_GTID)


def executed(server: Server, state: ServerState) -> Transactions:
    """Return the transactions that a server with GTIDs has executed and logged."""
    name = "gtid_binlog_pos" if state.is_maria else "gtid_executed"
    return transactions_of(server.variable(name), is_maria=state.is_maria)


def possibly_logged(server: Server, state: ServerState) -> Transactions:
    """Return all transactions that a server with GTIDs has logged, and possibly more that it is executing."""
    if state.is_maria:  # the position changes before a transaction is written to the log
        return executed(server, state)
    owned = gtid_set_of(_OWNER.sub("", server.variable("gtid_owned")))  # first: it is owned until it is executed
    return owned | gtid_set_of(server.variable("gtid_executed"))


def purged(server: Server) -> GtidSet:
    """Return the transactions that a MySQL server has executed and that its log does not contain.

    They were in removed files, or the server was created from a copy that contained them.
    """
    return gtid_set_of(server.variable("gtid_purged"))


def gtid_events(server: Server, file: str) -> Generator[tuple[LogPosition, bytes], None, None]:
    """Yield each event with GTIDs and its position, starting at the beginning of a log file.

    The last item is the end of the log, without an event.

    Raises:
        SourceError: The log cannot be read.
    """
    offset = _FIRST_OFFSET
    try:
        with closing(log_stream(server, LogPosition(file, offset))) as stream:
            for event in stream.events():
                if event is None:
                    continue
                data, start, end = event
                _, kind, _, size, log_pos, _ = HEADER.unpack_from(data, start)
                if kind == et.ROTATE:
                    file, offset = _rotated(data[start:end])
                elif log_pos and kind not in (et.HEARTBEAT, et.HEARTBEAT_V2):  # others are not in the file
                    offset = unwrapped(offset + size, log_pos)
                    if kind in _OF_GTIDS:
                        yield LogPosition(file, offset - size), data[start:end]
    except SourceError:
        raise
    except Exception as error:
        raise server.failed("the log of the server cannot be read", error) from error
    yield LogPosition(file, offset), b""


def _rotated(event: bytes) -> tuple[str, int]:
    """Return the next file and its first offset. The server also sends such events without a checksum."""
    tail = CHECKSUM_BYTES if crc32(event) == CHECKED else 0
    return rotate_of(event[HEADER_BYTES : len(event) - tail])


def begins_file(event: bytes) -> bool:
    """Return True for the event at the beginning of a file, which contains the transactions of all earlier files."""
    return bool(event) and event[4] in _BEGINS_FILE


def transactions_of_earlier_files(server: Server, state: ServerState, file: str) -> Transactions:
    """Return the transactions before a log file."""
    with closing(gtid_events(server, file)) as events:
        _, event = next(events)
    return gtids_of_earlier_files(event) if begins_file(event) else transactions_of("", is_maria=state.is_maria)


@frozen
class TransactionsBefore:
    """All transactions before a position of the log."""

    transactions: Transactions
    last: str = ""
    """Last of these transactions; empty if the log file has none before the position, or was not read."""


def transactions_before(
    server: Server, state: ServerState, end: LogPosition, *, reads_log: bool = False
) -> TransactionsBefore | None:
    """Return exactly the transactions before a position at which a transaction begins.

    Unless the log ends there, the file of the position is read from its beginning.

    Args:
        server: The server.
        state: State of the server.
        end: The position.
        reads_log: True to read the log even if it ends there.

    Returns:
        The transactions; ``None`` if they cannot be determined.
    """
    try:
        if not reads_log and (found := _all_if_at_end(server, state, end)) is not None:
            return TransactionsBefore(found)
        return _logged_before(server, state, end)
    except ServerReplacedError:
        raise
    except SourceError as error:
        if error.retryable:
            raise
    return None


def _logged_before(server: Server, state: ServerState, end: LogPosition) -> TransactionsBefore | None:
    # Queried before the log is read: later, it may also contain transactions after the position.
    never_logged = None if state.is_maria else purged(server)
    base, gtids = transactions_of("", is_maria=state.is_maria), LoggedGtids()
    with closing(gtid_events(server, end.file)) as events:
        for at, event in events:
            if at.file == end.file and begins_file(event):
                base = gtids_of_earlier_files(event)
            elif at >= end:
                found = gtids.after(base)
                if never_logged is not None and isinstance(found, GtidSet):
                    found = found | never_logged
                last = LoggedTransaction.of(gtids.last_event)
                return TransactionsBefore(found, str(last or "")) if gtids.is_complete else None
            elif event:
                gtids.add_event(event)
    return None


def _all_if_at_end(server: Server, state: ServerState, end: LogPosition) -> Transactions | None:
    """Return all executed transactions if the log ends at a position and no transaction is being committed."""
    before = executed(server, state)
    if server.position(state) != end:
        return None
    # MySQL: a logged transaction is owned until it is executed, so the order of these two matters.
    owned = "" if state.is_maria else server.variable("gtid_owned")
    return before if not owned and executed(server, state) == before else None
