"""Choice of changed rows while tables are read."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from attrs import evolve

from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.connectors.mysql_cdc.chunk_places import Places, places_of
from seatunnel_core.connectors.mysql_cdc.server import Server
from seatunnel_core.connectors.mysql_cdc.window_filter import MarkedChunk, WindowFilter
from seatunnel_core.connectors.mysql_log.change_batch import Transaction
from seatunnel_core.connectors.mysql_log.position import LogPosition
from seatunnel_core.rows.kind import RowKind
from tests.connectors.mysql_cdc.changed import changes_of
from tests.connectors.mysql_cdc.tables import DIALECT, table

SERVER = Server(dialect=DIALECT)


def at(offset: int) -> LogPosition:
    return LogPosition("bin.000001", offset)


def chunk(low: str | None, high: str | None, mark: int, name: str = "m") -> MarkedChunk:
    return MarkedChunk(table=f"shop.{name}", order="number", low=low, high=high, mark=at(mark))


WINDOW = WindowFilter(chunks=(chunk("10", "20", 300), chunk("20", "30", 500)))


def kept(found: Found, rows: Sequence[tuple[int, int]], window: WindowFilter = WINDOW) -> list[int]:
    """The numbers of the rows that are kept, of rows that are given as key and begin of the transaction."""
    begins = sorted({begin for _, begin in rows})
    transactions = {n: Transaction(n, "bin.000001", begin, 0) for n, begin in enumerate(begins)}
    changes = changes_of([(RowKind.INSERT, begins.index(begin), key) for key, begin in rows])
    keep = window.keep(found, changes, transactions, place)
    return list(range(len(rows))) if keep is None else np.flatnonzero(keep).tolist()


def place(found: Found, order: str, bounds: Sequence[str], keys: pa.Array) -> Places:
    return places_of(SERVER, found, order, bounds, keys)


def test_rows_of_earlier_chunks_and_tables_are_emitted_and_those_of_later_ones_are_not() -> None:
    assert kept(table("a"), [(5, 1), (15, 1), (99, 1)]) == [0, 1, 2]
    assert kept(table("z"), [(5, 900), (15, 900), (99, 900)]) == []
    assert kept(table("m"), [(9, 1), (30, 900), (99, 900)]) == [0]


def test_rows_of_a_chunk_are_emitted_from_its_mark_on() -> None:
    assert kept(table("m"), [(10, 299), (19, 300), (20, 300), (29, 499), (29, 500)]) == [1, 4]


def test_open_ends_belong_to_their_chunks() -> None:
    window = WindowFilter(chunks=(chunk(None, "20", 300), chunk("20", None, 500)))
    assert kept(table("m"), [(-9, 299), (-9, 300), (99, 499), (99, 500)], window) == [1, 3]


def test_a_table_in_one_chunk_needs_no_comparison() -> None:
    window = WindowFilter(chunks=(chunk(None, None, 300),))
    assert kept(table("m", "enum('a')"), [(1, 299), (2, 300)], window) == [1]


def test_a_row_without_a_key_belongs_to_the_chunk_of_the_old_row() -> None:
    """An update with binlog_row_image = MINIMAL logs only changed columns of the new row."""
    assert kept_update(25, mark=399) == [True, True], "the source rejects the new row"
    assert kept_update(25, mark=401) == [False, False]
    assert kept_update(None, mark=401) == [True, True], "no place is known"


def kept_update(key: int | None, *, mark: int) -> list[bool]:
    """Return the mask for an update at 400 whose new row has no key; ``mark`` is the mark of the second chunk."""
    window = WindowFilter(chunks=(chunk(None, "20", 500), chunk("20", None, mark)))
    changes = changes_of([(RowKind.UPDATE_BEFORE, 0, key), (RowKind.UPDATE_AFTER, 0, None)])
    layouts = np.array([[key is not None, True], [False, True]])
    partial = evolve(changes, layouts=layouts, layout=np.array([0, 1], np.int32))
    keep = window.keep(table("m"), partial, {0: Transaction(0, "bin.000001", 400, 0)}, place)
    assert keep is not None
    return keep.tolist()


def test_the_filter_is_in_the_body_of_a_split() -> None:
    body = {"window": [each.record() for each in WINDOW.chunks]}
    assert WindowFilter.of(body) == WINDOW
    assert WindowFilter.of({}) is None
