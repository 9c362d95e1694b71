"""Rows that are inserted into another table before they are deleted from their former one."""

import random
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pytest
from attrs import evolve

from seatunnel_core.connector_api.batch import Batch
from seatunnel_core.connector_api.errors import SourceError
from seatunnel_core.connector_api.source import OrderGroup, RowOrder
from seatunnel_core.connectors.change_data.log_order import LoggedRows, LogOrder
from seatunnel_core.rows.kind import RowKind
from tests.connectors.mysql_cdc.driven import Reports
from tests.connectors.mysql_cdc.tables import table

NEW, BEFORE, AFTER, GONE = RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE
Change = tuple[str, RowKind, int]
"""Table, kind and key of a row."""

NUMBERS: Callable[[Sequence[int]], pa.Array] = lambda keys: pa.array(keys, pa.int64())  # noqa: E731
TEXTS: Callable[[Sequence[int]], pa.Array] = lambda keys: pa.array([f"é{key}" for key in keys])  # noqa: E731


class Shared(Reports):
    """All tables have one target."""

    def __init__(self, order: RowOrder = RowOrder.KEY, *, may_move: bool = True) -> None:
        super().__init__()
        self._group = OrderGroup(name="shared", order=order, may_move=may_move and order is RowOrder.KEY)

    def order_group(self, table: str) -> OrderGroup:
        return self._group


def logged(
    log: Sequence[Change], first: int, keys: Callable[[Sequence[int]], pa.Array], transactions: Sequence[int] = ()
) -> Iterator[LoggedRows]:
    """The rows of a batch of the log, by table. The column ``a`` is the number of the row in the log.

    ``transactions`` are the numbers of the first rows of all transactions but the first one.
    """
    for name in dict.fromkeys(name for name, _, _ in log):
        own = [(at, kind, key) for at, (owner, kind, key) in enumerate(log, first) if owner == name]
        columns = [keys([key for _, _, key in own]), pa.array([at for at, _, _ in own])]
        yield LoggedRows(
            batch=Batch(
                table=name,
                rows=pa.RecordBatch.from_arrays(columns, names=["id", "a"]),
                kinds=pa.array([int(kind) for _, kind, _ in own], pa.int8()),
            ),
            found=table(name),
            events=np.array([at for at, _, _ in own], np.int64),
            transactions=np.searchsorted(transactions, [at for at, _, _ in own], side="right"),
        )


def emitted(
    *batches: Sequence[Change],
    order: RowOrder = RowOrder.KEY,
    keys: Callable[[Sequence[int]], pa.Array] = NUMBERS,
    transactions: Sequence[int] = (),
) -> list[tuple[RowKind, int]]:
    """Return the kind and the number of each row of a range, in the order in which they arrive."""
    found, first, ordering = list[tuple[RowKind, int]](), 0, LogOrder(Shared(order))
    for log in batches:
        for batch in ordering.batches(list(logged(log, first, keys, transactions))):
            assert batch.kinds is not None
            found += zip(map(RowKind, batch.kinds.to_pylist()), batch.rows.column("a").to_pylist(), strict=True)
        first += len(log)
    return found


def target(rows: Sequence[tuple[RowKind, int]], log: Sequence[Change], held: Sequence[int] = ()) -> dict[int, int]:
    """Return the number of the last row of each key in the target, which had some keys before."""
    found = dict.fromkeys(held, -1)
    for kind, at in rows:
        if kind in (NEW, AFTER):
            found[log[at][2]] = at
        else:
            found.pop(log[at][2], None)
    return found


INSERTED_FIRST: Sequence[Change] = [("b", NEW, 1), ("a", GONE, 1)]
DELETED_FIRST: Sequence[Change] = [("a", GONE, 1), ("b", NEW, 1)]


@pytest.mark.parametrize("keys", [NUMBERS, TEXTS])
def test_a_row_that_moves_in_either_order_stays(keys: Callable[[Sequence[int]], pa.Array]) -> None:
    assert emitted(INSERTED_FIRST, keys=keys) == [(NEW, 0)]
    assert emitted(DELETED_FIRST, keys=keys) == [(GONE, 0), (NEW, 1)]
    assert emitted(*([each] for each in INSERTED_FIRST), keys=keys) == [(NEW, 0)], "in two batches"
    assert emitted(INSERTED_FIRST, order=RowOrder.ALL, keys=keys) == [(NEW, 0), (GONE, 1)], "as in the log"


def test_a_row_that_moves_back() -> None:
    back: Sequence[Change] = [("a", NEW, 1), ("b", GONE, 1)]
    assert emitted([*INSERTED_FIRST, *back]) == [(NEW, 0), (NEW, 2)]
    assert emitted(INSERTED_FIRST, back) == [(NEW, 0), (NEW, 2)]
    assert emitted([*INSERTED_FIRST, *reversed(back)]) == [(NEW, 0), (GONE, 2), (NEW, 3)]
    assert emitted(DELETED_FIRST, [("b", GONE, 1)], [("a", NEW, 1)]) == [(GONE, 0), (NEW, 1), (GONE, 2), (NEW, 3)]


def test_changes_of_the_former_row_are_dropped() -> None:
    """For example, it is marked as moved before it is deleted. It remained if the deletion was in another batch."""
    marked: Sequence[Change] = [("b", NEW, 1), ("a", BEFORE, 1), ("a", AFTER, 1), ("a", GONE, 1), ("a", GONE, 2)]
    assert (
        emitted(marked) == emitted(*([each] for each in marked[:1]), marked[1:3], marked[3:]) == [(NEW, 0), (GONE, 4)]
    )
    both: Sequence[Change] = [("b", NEW, 1), ("a", BEFORE, 1), ("a", AFTER, 1), ("b", GONE, 1), ("a", GONE, 1)]
    assert emitted(both) == [(NEW, 0), (GONE, 3), (GONE, 4)]
    changed: Sequence[Change] = [*INSERTED_FIRST, ("b", BEFORE, 1), ("b", AFTER, 1), ("b", GONE, 1), ("a", GONE, 1)]
    assert emitted(changed) == [(NEW, 0), (BEFORE, 2), (AFTER, 3), (GONE, 4), (GONE, 5)]


@pytest.mark.parametrize("size", [1, 100])
def test_other_transactions_do_not_count(size: int) -> None:
    """Whether a deletion was dropped depended on the bounds of the range, and the keys of a range filled the memory."""
    log: Sequence[Change] = [*INSERTED_FIRST, ("a", NEW, 2), ("b", GONE, 1), ("b", GONE, 2)]
    assert emitted(*divided(log, size), transactions=[1]) == [(kind, at) for at, (_, kind, _) in enumerate(log)][:4]
    assert [at for _, at in emitted(*divided(log, size), transactions=[1, 3])] == [0, 1, 2, 3, 4]
    assert sorted(at for _, at in emitted(*divided(log, size), transactions=[2])) == [0, 2, 3]


def test_only_the_insertions_of_the_last_transaction_are_remembered() -> None:
    ordering = LogOrder(Shared())
    for first in range(0, 60, 3):
        log: Sequence[Change] = [("b", NEW, first), ("a", BEFORE, first + 1), ("a", AFTER, first + 1)]
        list(ordering.batches(list(logged([*log, ("a", GONE, 7)], 4 * first, NUMBERS, range(0, 400, 4)))))
    (owners,) = ordering._owners.values()
    assert [(each.table, each.key[0].to_pylist()) for each in owners._last] == [("b", [57])]


def test_tables_with_different_columns_may_have_the_same_keys() -> None:
    """Each of them has some columns of a row."""
    rows = list(logged(INSERTED_FIRST, 0, NUMBERS))
    found = [each.table for each in LogOrder(Shared(may_move=False)).batches(rows)]
    assert found == ["b", "a"]


def test_a_changed_key_is_a_deletion_and_an_insertion() -> None:
    log: Sequence[Change] = [("b", BEFORE, 7), ("b", AFTER, 1), ("a", BEFORE, 1), ("a", AFTER, 3), ("a", GONE, 3)]
    assert emitted(log) == [(BEFORE, 0), (AFTER, 1), (NEW, 3), (GONE, 4)]
    assert emitted(log[:2], log[2:]) == [(BEFORE, 0), (AFTER, 1), (NEW, 3), (GONE, 4)]


def test_a_moved_row_with_missing_values_is_an_error() -> None:
    log: Sequence[Change] = [("b", NEW, 1), ("a", BEFORE, 1), ("a", AFTER, 3)]
    rows = list(logged(log, 0, NUMBERS))
    rows[1] = evolve(rows[1], batch=evolve(rows[1].batch, absent={"a": pa.array([False, True])}))
    with pytest.raises(SourceError, match="the log lacks its value of the column 'a'"):
        list(LogOrder(Shared()).batches(rows))


def test_keys_of_different_types_are_not_in_one_group() -> None:
    """The planner excludes them. They must not be emitted as if no row had moved."""
    rows = list(logged(INSERTED_FIRST, 0, NUMBERS))
    (other,) = logged(INSERTED_FIRST[1:], 1, TEXTS)
    with pytest.raises(AssertionError, match="keys of different types in one group: int64, string"):
        list(LogOrder(Shared()).batches([rows[0], other]))


def test_integers_of_any_width_are_compared() -> None:
    rows = list(logged(INSERTED_FIRST, 0, NUMBERS))
    (other,) = logged(INSERTED_FIRST[1:], 1, lambda keys: pa.array(keys, pa.int16()))
    assert [each.table for each in LogOrder(Shared()).batches([rows[0], other])] == ["b"]


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_random_log_gives_what_it_gave_at_the_source(size: int) -> None:
    """Rows are changed, and moved in either order."""
    rng = random.Random(size)
    for _ in range(15):
        log, held, transactions = list[Change](), dict.fromkeys(range(3), ("a", -1)), list[int]()
        for _ in range(30):
            change(rng, log, held)
            transactions += [len(log)] if rng.random() < 0.5 else []
        found = target(emitted(*divided(log, size), transactions=transactions), log, range(3))
        assert found == {key: at for key, (_, at) in held.items()}, log


def divided(log: Sequence[Change], size: int) -> Iterator[Sequence[Change]]:
    """Batches of a size; both rows of an update are in one batch."""
    start = 0
    while start < len(log):
        end = start + size
        end += end < len(log) and log[end - 1][1] == BEFORE
        yield log[start:end]
        start = end


def change(rng: random.Random, log: list[Change], held: dict[int, tuple[str, int]]) -> None:
    """Change a row; ``held`` has the table and the number of the last values of each row.

    A row may be changed after it was inserted into another table, before it is deleted there.
    """
    key, other = rng.randrange(6), rng.choice("abc")
    own, _ = held.get(key, ("", 0))
    if not own:
        held[key] = other, len(log)
        log.append((other, NEW, key))
    elif rng.random() < 0.2:
        del held[key]
        log.append((own, GONE, key))
    elif own == other:
        held[key] = own, len(log) + 1
        log.extend([(own, BEFORE, key), (own, AFTER, key)])
    else:
        marked: list[Change] = [(own, BEFORE, key), (own, AFTER, key)] if rng.random() < 0.3 else []
        moved: list[Change] = [(other, NEW, key), *marked, (own, GONE, key)]
        if rng.random() < 0.5:
            moved = [*marked, (own, GONE, key), (other, NEW, key)]
        held[key] = other, len(log) + moved.index((other, NEW, key))
        log.extend(moved)
