"""Times and positions of changed rows: numbers within a transaction, also across batches, and what filters keep."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from seatunnel_core.connector_api.batch import Batch
from seatunnel_core.connectors.change_data.origins import Commit, RowNumbers, TableRows
from seatunnel_core.connectors.mysql_log.position import LogPosition
from seatunnel_core.connectors.postgres_log.lsn import Lsn
from seatunnel_core.errors import TransformError
from seatunnel_core.rows.batch import Origins, unlogged
from seatunnel_core.rows.columns import kept, sliced
from seatunnel_core.transforms.metadata import Metadata
from seatunnel_core.transforms.row_kind_extractor import RowKindExtractor
from tests.transforms.tables import made

COMMITS = {number: Commit(1_000 + number, f"A{number}") for number in range(9)}


def origins(numbers: RowNumbers, *transactions: int, table: str = "t") -> Origins:
    return of_tables(numbers, COMMITS.__getitem__, rows(table, *transactions))[0]


def rows(group: str, *transactions: int, first: int = 0, step: int = 1) -> TableRows:
    """Rows of a table, each in its own event."""
    events = np.arange(len(transactions), dtype=np.int64) * step + first
    return TableRows(group=group, transactions=np.array(transactions, np.int64), events=events)


def of_tables(numbers: RowNumbers, commit_of: Callable[[int], Commit], *tables: TableRows) -> list[Origins]:
    return numbers.origins(tables, commit_of)


def numbered(found: Origins) -> list[int]:
    """Return the number of each row in its transaction."""
    return [int(position.rpartition(":")[2]) for position in found.positions().to_pylist()]


def batch(found: Origins | None, rows: int = 3) -> Batch:
    values = pa.RecordBatch.from_pydict({"id": list(range(rows))})
    return Batch(table="t", rows=values, kinds=pa.array([0, 2, 3][:rows], pa.int8()), origins=found)


def test_rows_are_numbered_within_their_transaction_and_table() -> None:
    numbers = RowNumbers()
    found = origins(numbers, 3, 3, 4)
    assert found.times.to_pylist() == [1_003, 1_003, 1_004]
    assert found.positions().to_pylist() == ["A3:0000000001", "A3:0000000002", "A4:0000000001"]
    assert numbered(origins(numbers, 4, 4, table="u")) == [1, 2], "tables have their own numbers"


def test_numbers_continue_in_the_next_batch_of_a_transaction() -> None:
    numbers = RowNumbers()
    origins(numbers, 0, 1, 1)
    assert numbered(origins(numbers, 1, 2)) == [3, 1]
    assert numbered(origins(numbers, 2, 2)) == [2, 3]
    assert numbered(origins(numbers, 5)) == [1]


def test_numbers_begin_again_where_another_stream_counts_transactions_anew() -> None:
    numbers = RowNumbers()
    of_tables(numbers, lambda _: Commit(1, "A"), rows("t", 0, 0, 0))
    (again,) = of_tables(numbers, lambda _: Commit(2, "B"), rows("t", 0, 0))
    assert numbered(again) == [1, 2]


def test_tables_with_one_target_are_numbered_together() -> None:
    """Their rows of a transaction had the same positions, so that sorting by position did not give their order."""
    numbers = RowNumbers()
    a, b, own = of_tables(
        numbers,
        COMMITS.__getitem__,
        rows("shared", 1, 1, 2, first=0, step=2),
        rows("shared", 1, 2, 2, first=1, step=2),
        rows("own", 1, 2),
    )
    assert (numbered(a), numbered(b), numbered(own)) == ([1, 3, 2], [2, 1, 3], [1, 1])
    b, a = of_tables(numbers, COMMITS.__getitem__, rows("shared", 2, 3, step=5), rows("shared", 2, first=1))
    assert (numbered(b), numbered(a)) == ([4, 1], [5])


def test_origins_follow_their_rows() -> None:
    given = batch(origins(RowNumbers(), 1, 2, 2))
    chosen = kept(given, pa.array([True, False, True])).origins
    assert chosen is not None
    assert chosen.positions().to_pylist() == ["A1:0000000001", "A2:0000000002"]
    rest = sliced(given, 1, None).origins
    assert rest is not None
    assert rest.times.to_pylist() == [1_002, 1_002]


def test_metadata_and_kinds_become_columns() -> None:
    metadata = made(Metadata, metadata_fields={"EventTime": "at", "Position": "position"})
    extractor = made(RowKindExtractor, custom_field_name="kind")
    (found,) = extractor.apply(next(iter(metadata.apply(batch(origins(RowNumbers(), 7, 7, 8))))))
    assert found.inserts_only
    assert list(found.rows.to_pylist()[1].values()) == [1, 1_007, "A7:0000000002", "+U"]


def test_rows_of_a_table_have_neither_time_nor_position() -> None:
    metadata = made(Metadata, metadata_fields={"EventTime": "at", "Position": "position"})
    (found,) = metadata.apply(batch(unlogged(3)))
    assert found.rows.to_pylist()[0] == {"id": 0, "at": None, "position": None}


def test_rows_of_other_sources_are_rejected() -> None:
    with pytest.raises(TransformError, match="rows of t have no Position: only change data sources provide it"):
        next(iter(made(Metadata, metadata_fields={"Position": "p"}).apply(batch(None))))


def test_positions_are_ordered_as_texts() -> None:
    assert Lsn.parse("9/FF").padded < Lsn.parse("10/1").padded
    assert LogPosition("log.000001", 99).padded < LogPosition("log.000001", 100).padded


def test_a_transaction_is_only_looked_up_when_origins_are_needed() -> None:
    asked: list[int] = []

    def commit_of(number: int) -> Commit:
        asked.append(number)
        return COMMITS[number]

    found = of_tables(RowNumbers(), commit_of, rows("t", 1, 2, 2, 3))[0].slice(1, None)
    assert asked == [1, 3], "the first and the last one, for the numbers of the next batch"
    assert found.positions().to_pylist() == ["A2:0000000001", "A2:0000000002", "A3:0000000001"]
    assert found.times.to_pylist() == [1_002, 1_002, 1_003]
    assert asked == [1, 3, 1, 2, 3], "once for all columns"
