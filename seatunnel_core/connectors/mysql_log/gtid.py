"""Global transaction identifiers (GTIDs) of MySQL and MariaDB, and sets of GTIDs."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from uuid import UUID

from attrs import field, frozen

from seatunnel_core.connectors.mysql_log import event_types as et
from seatunnel_core.connectors.mysql_log.errors import LogError, MalformedLogError
from seatunnel_core.connectors.mysql_log.events import HEADER, HEADER_BYTES
from seatunnel_core.connectors.mysql_log.fields import Fields

Interval = tuple[int, int]
"""First and last transaction number, both inclusive."""

_TAG = re.compile(r"[a-z_][a-z0-9_]{0,31}")
_NUMBERS = re.compile(r"(\d+)(?:-(\d+))?")
_MOST = (1 << 63) - 1


@frozen(order=True)
class Gtid:
    """GTID of a MySQL transaction: ``uuid:number``, or ``uuid:tag:number``."""

    source: str
    """UUID of the server on which the transaction was first committed."""

    tag: str
    """Tag in MySQL 8.3 and later; ``""`` if there is none."""

    number: int

    def __str__(self) -> str:
        return f"{self.source}:{self.tag}:{self.number}" if self.tag else f"{self.source}:{self.number}"


@frozen
class GtidSet:
    """A set of MySQL transactions, such as ``@@gtid_executed``."""

    intervals: Mapping[tuple[str, str], tuple[Interval, ...]] = field(factory=dict)
    """Disjoint intervals in ascending order, by UUID and tag."""

    @classmethod
    def of(cls, intervals: Mapping[tuple[str, str], Iterable[Interval]]) -> "GtidSet":
        """Return the set of the transactions in intervals, which may overlap."""
        return cls({key: tuple(_merged(each)) for key, each in intervals.items()})

    def __str__(self) -> str:
        parts: dict[str, list[str]] = {}
        for source, tag in sorted(self.intervals):
            written = [str(low) if low == high else f"{low}-{high}" for low, high in self.intervals[source, tag]]
            parts.setdefault(source, []).extend([tag, *written] if tag else written)
        return ",".join(f"{source}:{':'.join(each)}" for source, each in parts.items())

    def __bool__(self) -> bool:
        return bool(self.intervals)

    def __contains__(self, gtid: Gtid) -> bool:
        found = self.intervals.get((gtid.source, gtid.tag), ())
        index = bisect_right(found, gtid.number, key=itemgetter(0))
        return index > 0 and gtid.number <= found[index - 1][1]

    def __or__(self, other: "GtidSet") -> "GtidSet":
        return GtidSet(
            {
                key: tuple(_merged([*self.intervals.get(key, ()), *other.intervals.get(key, ())]))
                for key in {**self.intervals, **other.intervals}
            }
        )

    def __sub__(self, other: "GtidSet") -> "GtidSet":
        left = {key: tuple(_without(found, other.intervals.get(key, ()))) for key, found in self.intervals.items()}
        return GtidSet({key: found for key, found in left.items() if found})

    def __and__(self, other: "GtidSet") -> "GtidSet":
        return self - (self - other)

    def contains(self, other: "GtidSet") -> bool:
        """Return True if this set contains all transactions of the other set."""
        return not other - self

    def plus(self, gtid: Gtid) -> "GtidSet":
        """Return the set with a transaction added."""
        return self | GtidSet({(gtid.source, gtid.tag): ((gtid.number, gtid.number),)})

    def encoded(self) -> bytes:
        """Return the encoding for the command COM_BINLOG_DUMP_GTID.

        Raises:
            LogError: A transaction has a tag, which cannot be encoded.
        """
        if any(tag for _, tag in self.intervals):
            raise LogError(f"tagged GTIDs cannot be sent to a server: {self}")
        found = [len(self.intervals).to_bytes(8, "little")]
        for (source, _), intervals in sorted(self.intervals.items()):
            found += [UUID(source).bytes, len(intervals).to_bytes(8, "little")]
            found += [edge.to_bytes(8, "little") for low, high in intervals for edge in (low, high + 1)]
        return b"".join(found)


def gtid_set_of(text: str) -> GtidSet:
    """Parse a set in MySQL's notation: ``uuid:1-5:7,uuid:tag:1-3``.

    Raises:
        LogError: The string is not a GTID set.
    """
    found: dict[tuple[str, str], list[Interval]] = {}
    for part in "".join(text.split()).split(","):
        if not part:
            continue
        source, *written = part.split(":")
        key = (_uuid(source, text), "")
        for each in written:
            numbers = _NUMBERS.fullmatch(each)
            if numbers is None and _TAG.fullmatch(each.lower()):
                key = (key[0], each.lower())
            elif numbers is not None and 0 < int(numbers[1]) <= int(numbers[2] or numbers[1]) <= _MOST:
                found.setdefault(key, []).append((int(numbers[1]), int(numbers[2] or numbers[1])))
            else:
                raise LogError(f"{each!r} in the GTID set {text!r} is not a number, a range or a tag")
        if not written:
            raise LogError(f"the GTID set {text!r} contains a UUID without a number")
    return GtidSet.of(found)


def _uuid(written: str, text: str) -> str:
    try:
        return str(UUID(written))
    except ValueError:
        raise LogError(f"{written!r} in the GTID set {text!r} is not a UUID") from None


def _merged(intervals: Iterable[Interval]) -> Iterator[Interval]:
    """Yield disjoint intervals in ascending order, with adjacent ones merged."""
    low = high = -1
    for each in sorted(intervals):
        if each[0] > high + 1:
            if high >= 0:
                yield low, high
            low, high = each
        else:
            high = max(high, each[1])
    if high >= 0:
        yield low, high


def _without(intervals: Iterable[Interval], removed: Iterable[Interval]) -> Iterator[Interval]:
    """Yield the difference of two interval lists, which are disjoint and in ascending order."""
    others = iter(removed)
    other = next(others, None)
    for low, high in intervals:
        while other is not None and other[1] < low:
            other = next(others, None)
        while other is not None and other[0] <= high:
            if other[0] > low:
                yield low, other[0] - 1
            low = other[1] + 1
            if other[1] > high:
                break  # it may also overlap the next interval
            other = next(others, None)
        if low <= high:
            yield low, high


@frozen(order=True)
class MariaGtid:
    """GTID of a MariaDB transaction: ``domain-server-sequence``."""

    domain: int
    server: int
    sequence: int

    def __str__(self) -> str:
        return f"{self.domain}-{self.server}-{self.sequence}"


@frozen
class MariaGtidPosition:
    """Last transaction of each MariaDB domain, such as ``@@gtid_binlog_pos``."""

    last: Mapping[int, MariaGtid] = field(factory=dict)

    def __str__(self) -> str:
        return ",".join(str(self.last[domain]) for domain in sorted(self.last))

    def __contains__(self, gtid: MariaGtid) -> bool:
        found = self.last.get(gtid.domain)
        return found is not None and gtid.sequence <= found.sequence

    def plus(self, gtid: MariaGtid) -> "MariaGtidPosition":
        """Return the position after another transaction."""
        return MariaGtidPosition({**self.last, gtid.domain: gtid})


def maria_position_of(text: str) -> MariaGtidPosition:
    """Parse a position in MariaDB's notation: ``0-1-5,1-2-3``.

    Raises:
        LogError: The string is not a GTID position.
    """
    found: dict[int, MariaGtid] = {}
    for part in "".join(text.split()).split(","):
        if not part:
            continue
        numbers = part.split("-")
        if len(numbers) != 3 or not all(number.isdigit() for number in numbers):
            raise LogError(f"{part!r} in the GTID position {text!r} is not of the form domain-server-sequence")
        gtid = MariaGtid(*map(int, numbers))
        if gtid.domain in found:
            raise LogError(f"the GTID position {text!r} contains the domain {gtid.domain} twice")
        found[gtid.domain] = gtid
    return MariaGtidPosition(found)


Transactions = GtidSet | MariaGtidPosition
"""A set of transactions. A MariaDB position stands for all transactions of its domains up to their last ones."""


def transactions_of(text: str, *, is_maria: bool) -> Transactions:
    """Parse a set of transactions.

    Raises:
        LogError: The string is not a MySQL GTID set or a MariaDB GTID position.
    """
    return maria_position_of(text) if is_maria else gtid_set_of(text)


def contains(transactions: Transactions, gtid: Gtid | MariaGtid | None) -> bool:
    """Return True if a set contains a transaction; False for a transaction without a GTID."""
    if isinstance(transactions, GtidSet):
        return isinstance(gtid, Gtid) and gtid in transactions
    return isinstance(gtid, MariaGtid) and gtid in transactions


def missing(wanted: Transactions, available: Transactions) -> str:
    """Return the transactions of a set that another set does not contain; empty if there are none."""
    if isinstance(wanted, GtidSet):
        assert isinstance(available, GtidSet), "both sets are of one kind of server"
        return str(wanted - available)
    left = {domain: gtid for domain, gtid in wanted.last.items() if not contains(available, gtid)}
    return str(MariaGtidPosition(left))


def logged_gtid(event: bytes) -> Gtid | MariaGtid | None:
    """Return the GTID from an event with its header; ``None`` for an anonymous transaction."""
    _, kind, server_id, *_ = HEADER.unpack_from(event)
    body = event[HEADER_BYTES:]
    if kind == et.MARIA_GTID:
        return maria_gtid_of_event(body, server_id)
    return gtid_of_tagged_event(body) if kind == et.TAGGED_GTID else gtid_of_event(body)


def gtid_of_event(body: bytes) -> Gtid | None:
    """Return the GTID from a GTID event of MySQL; ``None`` for an anonymous transaction."""
    fields = Fields(body, "a GTID event")
    fields.take(1)
    source, number = UUID(bytes=fields.take(16)), fields.integer(8)
    return Gtid(str(source), "", number) if number else None


_COMMIT_TIME_AT = 42
"""Offset of the commit time in a GTID event of MySQL 8.0 and later."""

_HAS_ORIGINAL_TIME = 1 << 55
"""Flag in the commit time: on a replica, the commit time on the original server follows."""


def commit_time_of_event(body: bytes) -> int | None:
    """Return the commit time from a GTID event, in microseconds since 1970; ``None`` before MySQL 8.0.

    On a replica, it is the time on the original server, so it does not change when a job continues on another server.
    """
    fields = body[_COMMIT_TIME_AT:]
    if len(fields) < 7:
        return None
    here = int.from_bytes(fields[:7], "little")
    original = int.from_bytes(fields[7:14], "little") if here & _HAS_ORIGINAL_TIME else 0
    return (original or here) & _HAS_ORIGINAL_TIME - 1  # 0 if the original server is older than MySQL 8.0


def gtid_of_tagged_event(body: bytes) -> Gtid | None:
    """Return the GTID from a tagged GTID event of MySQL 8.3 and later. Not tested with a server."""
    fields = Fields(body, "a tagged GTID event")
    _variable(fields), _variable(fields), _variable(fields)  # version, size, last mandatory field
    source, tag, number = "", "", 0
    while fields.left:
        field_id = _variable(fields)
        if field_id == 0:
            _variable(fields)  # flags
        elif field_id == 1:
            source = str(UUID(bytes=bytes(_variable(fields) for _ in range(16))))
        elif field_id == 2:
            number = _signed(fields)
        elif field_id == 3:
            tag = fields.take(_variable(fields)).decode()
            break
        else:
            break
    if not source or not number:
        raise MalformedLogError("a tagged GTID event lacks its UUID or its number")
    return Gtid(source, tag, number)


def _variable(fields: Fields) -> int:
    """Read an unsigned integer of variable length.

    The number of trailing 1 bits in its first byte is the number of further bytes.
    """
    first = fields.integer(1)
    more = 0
    while more < 8 and first >> more & 1:
        more += 1
    found = first | int.from_bytes(fields.take(more), "little") << 8
    return found >> 8 if more == 8 else found >> more + 1


def _signed(fields: Fields) -> int:
    """Read a signed variable-length integer, with the sign in the lowest bit."""
    found = _variable(fields)
    return ~(found >> 1) if found & 1 else found >> 1


def maria_gtid_of_event(body: bytes, server: int) -> MariaGtid:
    """Return the GTID from a GTID event of MariaDB."""
    fields = Fields(body, "a GTID event")
    sequence, domain = fields.integer(8), fields.integer(4)
    return MariaGtid(domain, server, sequence)


_GROUP_COMMIT, _XA = 0x02, 0xC0
"""Flags of a MariaDB GTID event that is followed by a commit ID or the identifier of a distributed transaction."""

_ALTER_STARTED, _ALTER_ROLLED_BACK = 0x02, 0x08
"""Flags of ALTER TABLE with ``binlog_alter_two_phase = ON``, in MariaDB 10.8 and later."""


def alters_nothing(body: bytes) -> bool:
    """Return True for the GTID event of a MariaDB ALTER TABLE that was only started or was rolled back.

    A later commit event makes the statement take effect.
    """
    fields = Fields(body, "a GTID event")
    fields.take(12)
    flags = fields.integer(1)
    if flags & _GROUP_COMMIT:
        fields.take(8)
    if flags & _XA:
        fields.take(4)
        fields.take(fields.integer(1) + fields.integer(1))
    return bool(fields.left and fields.integer(1) & (_ALTER_STARTED | _ALTER_ROLLED_BACK))
