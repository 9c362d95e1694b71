"""Rows of two tables of a log with one target, from the bytes of the log to the batches of the source."""

from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.connector_api.batch import Batch
from seatunnel_core.connector_api.source import OrderGroup, RowOrder
from seatunnel_core.connectors.mysql_cdc.range_reader import RangeReader as MySQLRangeReader
from seatunnel_core.connectors.mysql_cdc.server import Server
from seatunnel_core.connectors.mysql_log.captured_tables import CapturedTables
from seatunnel_core.connectors.mysql_log.declared import DeclaredColumn
from seatunnel_core.connectors.mysql_log.log_decoder import LogDecoder as MySQLDecoder
from seatunnel_core.connectors.mysql_log.position import LogPosition
from seatunnel_core.connectors.postgres_cdc.cursor import Mark
from seatunnel_core.connectors.postgres_cdc.range_reading import LogRange
from seatunnel_core.connectors.postgres_cdc.range_reading import RangeReader as PostgresRangeReader
from seatunnel_core.connectors.postgres_log.change_batch import Reason
from seatunnel_core.connectors.postgres_log.log_decoder import LogDecoder as PostgresDecoder
from seatunnel_core.connectors.postgres_log.lsn import Lsn
from seatunnel_core.errors import SourceError
from seatunnel_core.rows.kind import RowKind
from tests.connectors.mysql_cdc.driven import Reports
from tests.connectors.mysql_cdc.tables import DIALECT, table
from tests.connectors.mysql_log.encoder import LogWriter, WrittenColumn
from tests.connectors.postgres_log import encoder as pg
from tests.connectors.postgres_log.test_decoder import BuiltInTypes

NEW, GONE = RowKind.INSERT, RowKind.DELETE
TABLES = ("a", "b", "c")
COLUMNS = [WrittenColumn(DeclaredColumn(name=name, declared="int"), 3) for name in ("id", "a")]
EVENTS = {NEW: 30, GONE: 32}
FIRST_XID = 11
"""ID of the first transaction in PostgreSQL; the next ones have the following IDs."""

Change = tuple[str, RowKind, int]
"""Table, kind and key of a row."""

Transactions = Sequence[Sequence[Change]]


class Shared(Reports):
    """The tables ``a`` and ``b`` have one target."""

    def __init__(self, order: RowOrder, *, replaces_rows: bool = False) -> None:
        super().__init__()
        may_move = order is RowOrder.KEY
        self._group = OrderGroup(name="shared", order=order, may_move=may_move, replaces_rows=replaces_rows)

    def order_group(self, table: str) -> OrderGroup:
        return OrderGroup(name=table) if table == "shop.c" else self._group


def mysql_log(transactions: Transactions) -> tuple[LogWriter, Sequence[LogPosition]]:
    """Return a binary log, and the positions of its transactions."""
    log = LogWriter()
    log.format()
    begins = []
    for number, changes in enumerate(transactions, 1):
        begins.append(LogPosition("bin.000001", log.offset))
        log.gtid(number)
        log.query("BEGIN")
        for name, kind, key in changes:
            log.table_map(COLUMNS, table_id=TABLES.index(name), name=name)
            image = [key.to_bytes(4, "little"), number.to_bytes(4, "little")]
            log.rows(EVENTS[kind], 2, [image], table_id=TABLES.index(name))
        log.xid()
    return log, begins


def of_mysql(
    transactions: Transactions, context: Shared, *marks: int, batch_rows: int = 100, then: Transactions = ()
) -> Iterator[Batch]:
    """Read a binary log. ``marks`` are the numbers of the transactions at which the tables were read.

    ``then`` are the transactions of a second stream, which the server sends after the first one has ended.
    """
    log, begins = mysql_log(transactions)
    captured = CapturedTables({("shop", name): [each.declared for each in COLUMNS] for name in TABLES})

    class Log:
        tables = captured

        def batches(self, start: LogPosition, end: LogPosition, **how: Any) -> Iterator[Any]:
            for events in (log.events(), mysql_log(then)[0].events()):
                yield from MySQLDecoder(captured, start, batch_rows=batch_rows).batches(events)

    read = [
        [f"shop.{name}", "number", None, None, str(begins[mark])] for name, mark in zip(TABLES, marks, strict=False)
    ]
    whole: Any = Log()
    return MySQLRangeReader(
        server=Server(dialect=DIALECT),
        tables={f"shop.{name}": table(name) for name in TABLES},
        log=whole,
        start=LogPosition("bin.000001", 4),
        end=LogPosition("bin.000001", 1 << 40),
        body={"prepared": [], **({"window": read} if marks else {})},
    ).batches(context)


def of_postgres(transactions: Transactions, context: Shared, *marks: int, batch_rows: int = 100) -> Iterator[Batch]:
    """Read a replication stream. ``marks`` are the numbers of the transactions at which the tables were read."""
    columns = [pg.Column("id", 23, key=True), pg.Column("a", 23)]
    messages: list[Any] = []
    for number, changes in enumerate(transactions, 1):
        messages.append(pg.begin(100 * number, xid=FIRST_XID + number - 1))
        if number == 1:
            messages += [pg.relation(at, name, columns) for at, name in enumerate(TABLES)]
        for name, kind, key in changes:
            made = pg.insert if kind == NEW else pg.delete
            messages.append(made(TABLES.index(name), [str(key), str(number)]))
        messages.append(pg.commit(100 * number, 100 * number + 10))
    reader = postgres_reader(context, marks)
    decoder, at = PostgresDecoder(BuiltInTypes(), Lsn(1), batch_rows=batch_rows), 0
    while at < len(messages):
        batch, at = decoder.decode(messages, at, None)
        yield from reader._of_batch(None, batch or decoder.batch(Reason.END), None)


def postgres_reader(context: Shared, marks: Sequence[int]) -> PostgresRangeReader:
    snapshots = [f"{FIRST_XID + mark}:{FIRST_XID + mark}:" for mark in marks]
    wanted = LogRange(
        start=Lsn(1),
        end=Lsn(1 << 40),
        confirm=Lsn(1),
        tables=tuple((f"shop.{name}", "") for name in TABLES),
        marks=tuple(Mark(table=at, high=None, snapshot=snapshot) for at, snapshot in enumerate(snapshots)),
    )
    settings: Any = SimpleNamespace(address=SimpleNamespace(database="shop"))
    tables: Any = [
        SimpleNamespace(path=("shop", name), name=f"shop.{name}", found=evolve(table(name), split_column=None))
        for name in TABLES
    ]
    return PostgresRangeReader(settings, DIALECT, tables, wanted, context)


Reading = Callable[..., Iterator[Batch]]
EACH = pytest.mark.parametrize("read", [of_mysql, of_postgres])


def rows(batches: Iterator[Batch]) -> list[Change]:
    changes = list[Change]()
    for batch in batches:
        kinds = [NEW] * batch.rows.num_rows if batch.kinds is None else map(RowKind, batch.kinds.to_pylist())
        keys = batch.rows.column("id").to_pylist()
        changes += [(batch.table[-1], kind, key) for kind, key in zip(kinds, keys, strict=True)]
    return changes


MOVED: Transactions = [
    [("b", NEW, 9), ("c", NEW, 1)],
    [("a", GONE, 1), ("b", NEW, 1)],
    [("b", GONE, 2)],
    [("c", NEW, 2), ("a", NEW, 2)],
    [("a", NEW, 8), ("b", GONE, 9)],
]
EVERY: Sequence[Change] = [change for changes in MOVED for change in changes]


@EACH
def test_a_target_that_needs_the_order_of_all_rows(read: Reading) -> None:
    """The tables came one after the other: b, c and a."""
    found = rows(read(MOVED, Shared(RowOrder.ALL)))
    assert [each for each in found if each[0] != "c"] == [each for each in EVERY if each[0] != "c"]
    assert [each for each in found if each[0] == "c"] == [("c", NEW, 1), ("c", NEW, 2)]


@EACH
@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_a_target_that_needs_the_order_of_each_key(read: Reading, size: int) -> None:
    found = rows(read(MOVED, Shared(RowOrder.KEY), batch_rows=size))
    assert sorted(found) == sorted(EVERY)
    for key in range(10):
        own = [each for each in EVERY if each[2] == key and each[0] != "c"]
        assert [each for each in found if each[2] == key and each[0] != "c"] == own


@EACH
def test_tables_are_divided_only_where_a_row_moves(read: Reading) -> None:
    found = [batch.table[-1] for batch in read(MOVED, Shared(RowOrder.KEY))]
    assert found == ["b", "a", "b", "b", "a", "c"]
    alone = [[("a", NEW, number), ("b", NEW, 100 + number)] for number in range(20)]
    assert [batch.table[-1] for batch in read(alone, Shared(RowOrder.KEY))] == ["a", "b"]
    assert len(list(read(alone, Shared(RowOrder.ALL)))) == 40


@EACH
@pytest.mark.parametrize("size", [1, 100])
def test_a_row_that_is_inserted_before_it_is_deleted_stays(read: Reading, size: int) -> None:
    copied = [("b", NEW, key) for key in range(3)], [("a", GONE, key) for key in range(3)]
    found = rows(read([[*copied[0], *copied[1]]], Shared(RowOrder.KEY), batch_rows=size))
    assert found == copied[0]


def test_a_stream_counts_its_transactions_from_zero() -> None:
    """The first transaction of the second stream is not the last one of the first stream."""
    first, second = [("b", NEW, 1)], [("b", NEW, 7), ("a", GONE, 1)]
    assert rows(of_mysql([first], Shared(RowOrder.KEY), then=[second])) == [*first, *second]


DELETED_FIRST: Transactions = [[("a", GONE, 1)], [("b", NEW, 1)], [("b", NEW, 7)]]
INSERTED_FIRST: Transactions = [[("b", NEW, 1), ("a", GONE, 1)], [("b", NEW, 7)]]


@EACH
def test_a_row_that_moves_between_chunks_is_inserted_again(read: Reading) -> None:
    """The chunk of b contains the row, and the one of a contained it before; the target lost it."""
    replacing = Shared(RowOrder.KEY, replaces_rows=True)
    assert rows(read(DELETED_FIRST, replacing, 0, 2, 2)) == [("a", GONE, 1), ("b", NEW, 1), ("b", NEW, 7)]
    assert rows(read(INSERTED_FIRST, replacing, 0, 1, 1)) == [("b", NEW, 1), ("b", NEW, 7)]
    adding = Shared(RowOrder.ALL)
    assert rows(read(DELETED_FIRST, adding, 0, 2, 2)) == [("a", GONE, 1), ("b", NEW, 7)], "rows arrive once"


def test_transactions_that_all_snapshots_contain_are_not_repeated() -> None:
    replacing = Shared(RowOrder.KEY, replaces_rows=True)
    assert rows(of_postgres(DELETED_FIRST, replacing, 2, 2, 2)) == [("b", NEW, 7)]
    assert rows(of_postgres(DELETED_FIRST, replacing, 1, 2, 2)) == [("b", NEW, 1), ("b", NEW, 7)]


def test_a_truncation_between_the_snapshots_of_two_tables_is_rejected() -> None:
    """Rows that were inserted before it would be inserted again."""
    truncation: Any = SimpleNamespace(
        tables=[SimpleNamespace(namespace="shop", name="b", oid=1)],
        transaction=SimpleNamespace(xid=FIRST_XID + 1, commit_lsn=Lsn(7)),
    )
    adding, replacing = Shared(RowOrder.ALL), Shared(RowOrder.KEY, replaces_rows=True)
    postgres_reader(adding, (1, 2, 2))._require_seen(None, truncation)
    postgres_reader(replacing, (2, 2, 2))._require_seen(None, truncation)
    with pytest.raises(SourceError, match=r"TRUNCATE of shop\.b at the log position 0/7 is not supported"):
        postgres_reader(replacing, (1, 2, 2))._require_seen(None, truncation)
