"""GTIDs of the transactions that a log reader has read."""

from collections.abc import Sequence
from operator import attrgetter, itemgetter
from uuid import UUID

import numpy as np
from attrs import define, field, frozen

from seatunnel_core.connectors.mysql_log import event_types as et
from seatunnel_core.connectors.mysql_log.change_batch import Outcome, Transaction
from seatunnel_core.connectors.mysql_log.errors import UnsupportedLogError
from seatunnel_core.connectors.mysql_log.events import HEADER, HEADER_BYTES
from seatunnel_core.connectors.mysql_log.fields import Fields
from seatunnel_core.connectors.mysql_log.gtid import (
    Gtid,
    GtidSet,
    Interval,
    MariaGtid,
    MariaGtidPosition,
    Transactions,
    commit_time_of_event,
    logged_gtid,
)

# Called for each transaction: several times as fast as a Python loop.
_event_of, _kind_of = attrgetter("gtid_event"), itemgetter(slice(4, 5))
_uuid_and_number_of, _domain_of = itemgetter(slice(20, 44)), itemgetter(slice(27, 31))

_NUMBERED = np.dtype([("first", "<u8"), ("second", "<u8"), ("number", "<u8")])
"""UUID and number in a GTID event of MySQL."""

_MOST_PENDING = 65_536
_TAGGED_FORMAT = 1 << 56
_LIST_COUNT = (1 << 28) - 1
"""Mask of the number of entries in a GTID list of MariaDB; the other bits are flags."""


@define
class LoggedGtids:
    """GTIDs of transactions, in the order of the log."""

    is_complete: bool = field(default=True, init=False)
    """False if a transaction had no GTID."""

    last_event: bytes = field(default=b"", init=False)
    """GTID event of the last transaction; empty if there is none."""

    _intervals: dict[tuple[str, str], list[Interval]] = field(factory=dict, init=False)
    _last: dict[bytes, bytes] = field(factory=dict, init=False)
    """Last GTID event of each MariaDB domain."""

    _pending: list[bytes] = field(factory=list, init=False)

    def add(self, transactions: Sequence[Transaction]) -> None:
        """Add transactions, except the last one if it is open."""
        is_open = bool(transactions) and transactions[-1].outcome is Outcome.OPEN
        events = [*map(_event_of, transactions[:-1] if is_open else transactions)]
        self.last_event = events[-1] if events else self.last_event
        self._add_events(events)

    def add_event(self, event: bytes) -> None:
        """Add the transaction of a GTID event with its header."""
        self.last_event = event
        self._pending.append(event)
        if len(self._pending) == _MOST_PENDING:
            self._add_pending()

    def _add_pending(self) -> None:
        pending, self._pending = self._pending, []
        self._add_events(pending)

    def _add_events(self, events: Sequence[bytes]) -> None:
        """Add the transactions of GTID events with headers."""
        kinds = {*map(_kind_of, events)}
        if kinds == {bytes([et.MARIA_GTID])}:
            self._last.update(zip(map(_domain_of, events), events, strict=True))
        elif kinds == {bytes([et.GTID])}:
            self._add_runs(events)
        else:
            for event in events:
                self._add_other(logged_gtid(event) if event else None)

    def _add_runs(self, events: Sequence[bytes]) -> None:
        """Add MySQL transactions, most of which have consecutive numbers."""
        found = np.frombuffer(b"".join(map(_uuid_and_number_of, events)), _NUMBERED)
        is_next = found["number"][1:] == found["number"][:-1] + np.uint64(1)
        for name in ("first", "second"):
            is_next &= found[name][1:] == found[name][:-1]
        starts = [0, *(np.flatnonzero(~is_next) + 1).tolist()]
        for start, end in zip(starts, [*starts[1:], len(found)], strict=True):
            source = str(UUID(bytes=found[start : start + 1].tobytes()[:16]))
            run = (int(found["number"][start]), int(found["number"][end - 1]))
            self._intervals.setdefault((source, ""), []).append(run)

    def _add_other(self, gtid: Gtid | MariaGtid | None) -> None:
        if isinstance(gtid, Gtid):
            self._intervals.setdefault((gtid.source, gtid.tag), []).append((gtid.number, gtid.number))
        else:
            self.is_complete = False

    def after(self, base: Transactions) -> Transactions:
        """Return ``base``, the transactions before the part of the log that was read, plus those in that part."""
        self._add_pending()
        if isinstance(base, GtidSet):
            return base | GtidSet.of(self._intervals)
        found = [logged_gtid(event) for event in self._last.values()]
        return MariaGtidPosition({**base.last, **{each.domain: each for each in found if isinstance(each, MariaGtid)}})


@frozen
class LoggedTransaction:
    """A transaction, with properties that distinguish it from other transactions with the same GTID.

    A server that was restored from a backup assigns GTIDs again.
    """

    gtid: Gtid | MariaGtid
    time_s: int
    """Time in the header of its GTID event. It may differ on other servers."""

    log_pos: int
    """Lower 32 bits of the end of its GTID event. It differs on other servers."""

    committed: int | None
    """Commit time on the original server, in microseconds since 1970; ``None`` before MySQL 8.0, and for MariaDB."""

    @classmethod
    def of(cls, event: bytes) -> "LoggedTransaction | None":
        """Return the transaction of a GTID event with its header; ``None`` if it has no GTID."""
        gtid = logged_gtid(event) if event else None
        if gtid is None:
            return None
        time_s, kind, _, _, log_pos, _ = HEADER.unpack_from(event)
        committed = commit_time_of_event(event[HEADER_BYTES:]) if kind == et.GTID else None
        return cls(gtid, time_s, log_pos, committed)

    def __str__(self) -> str:
        return f"{self.gtid}/{self.time_s}/{self.log_pos}/{self.committed or 0}"


def is_other_transaction(event: bytes, logged: str) -> bool:
    """Return True if a GTID event has the GTID of a ``LoggedTransaction``, given as a string, but another commit time.

    False if a commit time is unknown.
    """
    found = LoggedTransaction.of(event)
    gtid, _, _, committed = logged.split("/")
    if found is None or found.committed is None or committed == "0":
        return False
    return str(found.gtid) == gtid and str(found.committed) != committed


def gtids_of_earlier_files(event: bytes) -> Transactions:
    """Return the transactions of all earlier files, from an event with its header at the beginning of a file.

    Raises:
        UnsupportedLogError: The event contains tags.
    """
    if event[4] == et.MARIA_GTID_LIST:
        fields = Fields(event[HEADER_BYTES:], "a GTID list event")
        listed = (_listed(fields) for _ in range(fields.integer(4) & _LIST_COUNT))
        return MariaGtidPosition({each.domain: each for each in listed})  # the last one of a domain is the newest
    fields = Fields(event[HEADER_BYTES:], "a previous GTIDs event")
    count = fields.integer(8)
    if count >= _TAGGED_FORMAT:
        raise UnsupportedLogError("GTIDs with tags at the beginning of a log file are not supported")
    found: dict[tuple[str, str], list[Interval]] = {}
    for _ in range(count):
        key = (str(UUID(bytes=fields.take(16))), "")
        edges = [(fields.integer(8), fields.integer(8)) for _ in range(fields.integer(8))]
        found[key] = [(low, high - 1) for low, high in edges]
    return GtidSet.of(found)


def _listed(fields: Fields) -> MariaGtid:
    domain, server, sequence = fields.integer(4), fields.integer(4), fields.integer(8)
    return MariaGtid(domain, server, sequence)
