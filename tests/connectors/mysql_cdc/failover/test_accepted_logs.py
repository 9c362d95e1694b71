"""Whatever another server has logged: a position is accepted only if exactly the unread transactions are after it."""

from collections.abc import Sequence
from itertools import pairwise

import hypothesis.strategies as st
import pytest
from attrs import define
from hypothesis import example, given

from seatunnel_core.connector_api.errors import SourceError
from seatunnel_core.connectors.mysql_cdc.failover.continuation import Continuation
from seatunnel_core.connectors.mysql_log.position import LogPosition
from tests.connectors.mysql_cdc.failover.replica_stub import Logs, maria, mysql, of_a

Files = Sequence[Sequence[str]]


@define
class Other:
    """A server whose first log files were removed."""

    removed: list[str]
    kept: list[str]
    """Transactions of the other files, in order."""

    begins: dict[str, LogPosition]
    found: Continuation


def accepted(other: Other) -> tuple[list[str], list[str]] | None:
    """The transactions before and after the position at which a job would continue; ``None`` if it is rejected."""
    try:
        at = other.found.continued().log
    except SourceError:
        return None
    before = [each for each in other.kept if other.begins[each] < at]
    return before, other.kept[len(before) :]


def files_of(transactions: list[str], ends: list[int]) -> list[list[str]]:
    edges = [0, *sorted(each % (len(transactions) + 1) for each in ends), len(transactions)]
    return [transactions[low:high] for low, high in pairwise(edges)]


ENDS = st.lists(st.integers(0, 9), max_size=3)


@pytest.mark.fuzz
@given(
    st.permutations(["1", "2", "3", "4", "5", "6", ""]), st.integers(0, 7), ENDS, st.integers(0, 2),
    st.sets(st.integers(1, 7), min_size=1), st.sets(st.integers(6, 7)),
)  # fmt: skip
@example(["1", "2", "3", "4", "5", "6", ""], 6, [3], 0, {1, 2, 3}, set())
@example(["1", "2", "3", "", "5", "6", "4"], 7, [3, 4], 0, {1, 2, 3}, set())
def test_logs_of_mysql(
    order: list[str], length: int, ends: list[int], removed: int, read: set[int], copied: set[int]
) -> None:
    """Numbers are those of GTIDs, and one transaction has none. ``copied`` were executed and never logged."""
    transactions = [f"a:{each}" if each else "" for each in order[:length] if not each or int(each) not in copied]
    files = files_of(transactions, ends)
    removed = min(removed, len(files) - 1)
    gone = [each for file in files[:removed] for each in file]
    kept = [each for file in files[removed:] for each in file]
    purged = {int(each[2:]) for each in gone if each} | copied
    executed = purged | {int(each[2:]) for each in kept if each}
    before = of_a(*(int(each[2:]) for each in gone if each))
    with pytest.MonkeyPatch.context() as monkeypatch:
        logs = Logs({f"bin.{number:06}": file for number, file in enumerate(files[removed:])}, before=before)
        begins = logs.begins(monkeypatch)
        other = Other(gone, kept, begins, mysql(logs, of_a(*executed), of_a(*purged), read=of_a(*read)))
        found = accepted(other)
    if found is None:
        is_prefix = executed >= read >= purged and {*map(of_number, kept[: len(read - purged)])} == read - purged
        assert not is_prefix or "" in kept, "it must be accepted"
        return
    passed, left = ({*map(of_number, each)} for each in found)
    assert passed - {0} <= read, "an unread transaction is skipped"
    assert not left & read, "a read transaction is repeated"
    assert executed - read == left, "an unread transaction is not in the log"
    assert read <= executed
    last = max((kept.index(each) for each in kept if of_number(each) in read), default=-1)
    assert "" not in kept[last + 1 :], "it is unknown whether this one was read"


def of_number(transaction: str) -> int:
    return int(transaction[2:]) if transaction else 0


@pytest.mark.fuzz
@given(
    st.lists(st.tuples(st.sampled_from([0, 0, 1]), st.sampled_from([1, 2]), st.sampled_from([1, 1, 1, 2])), max_size=7),
    ENDS, st.integers(0, 2), st.integers(0, 7), st.sampled_from([1, 1, 1, 2]), st.integers(0, 1),
)  # fmt: skip
def test_logs_of_mariadb(
    steps: list[tuple[int, int, int]], ends: list[int], removed: int, read: int, server: int, unlogged: int
) -> None:
    """Each step is a domain, a server, and the distance from the last number. The job has read some, maybe others."""
    numbers, transactions = {0: 10, 1: 0}, []
    for domain, of, distance in steps:
        numbers[domain] += distance
        transactions.append(f"{domain}-{of}-{numbers[domain]}")
    files = files_of(transactions, ends)
    removed = min(removed, len(files) - 1)
    gone = [each for file in files[:removed] for each in file]
    kept = [each for file in files[removed:] for each in file]
    position = last_of(["0-1-10", *transactions[: read % (len(transactions) + 1)]])
    if server == 2:  # it has read another transaction with the same number
        position = {domain: f"{domain}-{3}-{each.split('-')[2]}" for domain, each in position.items()}
    executed = last_of(["0-1-10", *transactions])
    replicated = {0: f"0-1-{int(executed[0].split('-')[2]) + unlogged}"}
    with pytest.MonkeyPatch.context() as monkeypatch:
        served = {f"bin.{number:06}": file for number, file in enumerate(files[removed:])}
        logs = Logs(served, before=text(last_of(["0-1-10", *gone])))
        begins = logs.begins(monkeypatch)
        made = maria(logs, text(executed), read=text(position), replicated=text(replicated))
        found = accepted(Other(gone, kept, begins, made))
    if found is None:
        return
    passed, left = found
    assert not unlogged
    assert last_of(["0-1-10", *gone, *passed]) == position, "a transaction is skipped, or was another one"
    for domain in (0, 1):
        first = int(position.get(domain, f"{domain}-1-0").split("-")[2]) + 1
        unread = [int(each.split("-")[2]) for each in left if each.startswith(f"{domain}-")]
        assert unread == [*range(first, first + len(unread))], "a transaction may be missing"


def last_of(transactions: Sequence[str]) -> dict[int, str]:
    return {int(each.split("-")[0]): each for each in transactions}


def text(position: dict[int, str]) -> str:
    return ",".join(position.values())
