"""Sets of GTIDs behave as sets of numbers, and are written as the servers write them."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from seatunnel_core.connectors.mysql_log.errors import LogError, MalformedLogError
from seatunnel_core.connectors.mysql_log.gtid import (
    Gtid,
    GtidSet,
    MariaGtid,
    alters_nothing,
    commit_time_of_event,
    gtid_of_event,
    gtid_of_tagged_event,
    gtid_set_of,
    maria_gtid_of_event,
    maria_position_of,
)
from tests.connectors.mysql_log.encoder import SOURCE

A, B = str(SOURCE), "00000000-0000-0000-0000-000000000001"
numbers = st.dictionaries(
    st.sampled_from([(A, ""), (B, ""), (A, "tag_1")]), st.sets(st.integers(1, 30), min_size=1, max_size=15)
)
Numbers = dict[tuple[str, str], set[int]]


def made(found: Numbers) -> GtidSet:
    text = ",".join(
        f"{source}:{tag + ':' if tag else ''}{':'.join(str(each) for each in sorted(every))}"
        for (source, tag), every in found.items()
    )
    return gtid_set_of(text)


def plain(found: GtidSet) -> set[tuple[str, str, int]]:
    return {
        (source, tag, number)
        for (source, tag), intervals in found.intervals.items()
        for low, high in intervals
        for number in range(low, high + 1)
    }


def flat(found: Numbers) -> set[tuple[str, str, int]]:
    return {(*key, number) for key, every in found.items() for number in every}


@pytest.mark.fuzz
@given(numbers, numbers)
def test_sets_of_gtids_are_sets(one: Numbers, other: Numbers) -> None:
    left, right = made(one), made(other)
    assert plain(left | right) == flat(one) | flat(other)
    assert plain(left - right) == flat(one) - flat(other)
    assert plain(left & right) == flat(one) & flat(other)
    assert left.contains(right) == (flat(one) >= flat(other))
    assert bool(left) == bool(one)
    assert gtid_set_of(str(left)) == left
    for source, tag, number in flat(other):
        assert (Gtid(source, tag, number) in left) == ((source, tag, number) in flat(one))


@pytest.mark.fuzz
@given(numbers, st.integers(1, 40))
def test_one_more_gtid(found: Numbers, number: int) -> None:
    assert plain(made(found).plus(Gtid(A, "", number))) == flat(found) | {(A, "", number)}


@pytest.mark.timeout(20)
def test_sets_with_many_gaps_are_compared_quickly() -> None:
    """A server with multi-source replication, or with rolled back transactions, may have such sets."""
    even, odd = (GtidSet.of({(A, ""): [(each, each) for each in range(first, 200_000, 2)]}) for first in (2, 1))
    assert even - odd == even
    assert not even & odd
    assert str((even | odd) - odd) == str(even)
    assert all(Gtid(A, "", each) in even and Gtid(A, "", each) not in odd for each in range(2, 100_000, 2))


def test_intervals_are_joined_and_written_as_mysql_does() -> None:
    found = gtid_set_of(f"{A.upper()}:5:1-3:4:\n9-10,{B}:7, {A}:tag:2-3")
    assert str(found) == f"{B}:7,{A}:1-5:9-10:tag:2-3"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x:1", "'x' in the GTID set .* is not a UUID"),
        (f"{A}:0", "'0' in the GTID set"),
        (f"{A}:5-3", "'5-3' in the GTID set"),
        (f"{A}:1-", "is not a number, a range or a tag"),
        (A, "a UUID without a number"),
    ],
)
def test_a_text_that_is_no_set_is_refused(text: str, said: str) -> None:
    with pytest.raises(LogError, match=said):
        gtid_set_of(text)


def test_the_form_for_the_server() -> None:
    found = gtid_set_of(f"{A}:1-5:7").encoded()
    edges = [int.from_bytes(found[at : at + 8], "little") for at in (0, 24, 32, 40, 48, 56)]
    assert found[8:24] == SOURCE.bytes
    assert edges == [1, 2, 1, 6, 7, 8]
    with pytest.raises(LogError, match="tagged GTIDs cannot be sent"):
        gtid_set_of(f"{A}:t:1").encoded()


def test_positions_of_mariadb() -> None:
    found = maria_position_of("1-2-30, 0-1-5")
    assert str(found) == "0-1-5,1-2-30"
    assert MariaGtid(0, 9, 5) in found
    assert MariaGtid(0, 1, 6) not in found
    assert MariaGtid(2, 1, 1) not in found
    assert str(found.plus(MariaGtid(0, 3, 8))) == "0-3-8,1-2-30"
    for text, said in (("1-2", "of the form domain-server-sequence"), ("0-1-1,0-2-2", "the domain 0 twice")):
        with pytest.raises(LogError, match=said):
            maria_position_of(text)


def test_identifiers_in_events() -> None:
    assert gtid_of_event(b"\1" + SOURCE.bytes + (77).to_bytes(8, "little") + b"\2") == Gtid(A, "", 77)
    assert gtid_of_event(b"\1" + bytes(24)) is None
    assert maria_gtid_of_event((9).to_bytes(8, "little") + (3).to_bytes(4, "little") + b"\0", 4) == MariaGtid(3, 4, 9)
    with pytest.raises(MalformedLogError, match="a GTID event ends early"):
        gtid_of_event(b"\1" + SOURCE.bytes)


def test_the_time_of_a_commit() -> None:
    before = b"\1" + SOURCE.bytes + bytes(8 + 1 + 16)
    assert commit_time_of_event(before) is None
    micros = 1_700_000_000_123_456
    assert commit_time_of_event(before + micros.to_bytes(7, "little") + b"\xfc") == micros
    on_replica = before + (micros + 9_000_000 | 1 << 55).to_bytes(7, "little")
    assert commit_time_of_event(on_replica + micros.to_bytes(7, "little") + b"\xfc") == micros
    assert commit_time_of_event(on_replica + bytes(8)) == micros + 9_000_000, "the original server is older"


def variable(number: int) -> bytes:
    """Encode an integer of MySQL's serialization: the number of further bytes is that of the 1 bits at its end."""
    for more in range(8):
        if number < 1 << 7 * (more + 1):
            return (number << more + 1 | (1 << more) - 1).to_bytes(more + 1, "little")
    return b"\xff" + number.to_bytes(8, "little")


@pytest.mark.fuzz
@given(st.integers(1, (1 << 63) - 1), st.sampled_from(["", "a", "tag_of_a_transaction"]))
def test_identifiers_in_tagged_events(number: int, tag: str) -> None:
    body = variable(1) + variable(60) + variable(10) + variable(0) + variable(0)
    body += variable(1) + b"".join(variable(byte) for byte in SOURCE.bytes)
    body += variable(2) + variable(number << 1)
    needed = len(body)
    body += variable(3) + variable(len(tag)) + tag.encode()
    body += variable(4) + variable(12)
    assert gtid_of_tagged_event(body) == Gtid(A, tag, number)
    for size in range(needed):
        with pytest.raises(MalformedLogError):
            gtid_of_tagged_event(body[:size])


@pytest.mark.parametrize(
    ("flags", "nothing"),
    [
        ("29 02 00 00 00 00 00", True),  # START ALTER
        ("29 08 03 00 00 00 00 00 00 00", True),  # ROLLBACK ALTER
        ("29 04 03 00 00 00 00 00 00 00", False),  # COMMIT ALTER
        ("29 00 00 00 00 00 00", False),
        ("2b 02 02 02 02 02 02 02 02", False),  # with a commit id, and no further flags
        ("2b 01 00 00 00 00 00 00 00 02", True),
        ("69 01 00 00 00 02 01 61 61 62 02", True),  # with the identifier of a distributed transaction
        ("29", False),
    ],
)
def test_alters_of_mariadb_in_two_phases(flags: str, nothing: bool) -> None:
    assert alters_nothing(bytes(12) + bytes.fromhex(flags)) is nothing
