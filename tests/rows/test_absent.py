"""Absent values of changed rows: what keeps them, and who rejects them."""

from collections.abc import Sequence

import pyarrow as pa
import pytest
from attrs import evolve

from seatunnel_core.errors import RowError
from seatunnel_core.rows.batch import Batch
from seatunnel_core.rows.columns import each_absent, kept, put, require_arrived, sliced
from seatunnel_core.rows.kind import RowKind
from seatunnel_core.rows.nesting import TABLES, Nesting

COLUMNS = pa.schema([("id", pa.int64()), ("text", pa.string()), ("photo", pa.binary())])
KINDS = (RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.DELETE)


def changes(text: Sequence[bool] = (False, True, True)) -> Batch:
    rows = [{"id": 1, "text": "a", "photo": b"x"}, {"id": 2}, {"id": 3}]
    return Batch(
        table="t",
        rows=pa.RecordBatch.from_pylist(rows, COLUMNS),
        kinds=pa.array([kind.value for kind in KINDS], pa.int8()),
        absent={"text": pa.array(text)},
    )


def absent_of(batch: Batch) -> dict[str, list[bool]]:
    return {name: mask.to_pylist() for name, mask in batch.absent.items()}


def test_most_batches_have_none() -> None:
    assert Batch(table="t", rows=changes().rows).absent == {}
    assert each_absent({}, lambda mask: mask) == {}


def test_they_stay_with_their_rows() -> None:
    assert absent_of(kept(changes(), pa.array([False, True, False]))) == {"text": [True]}
    assert absent_of(sliced(changes(), 0, 2)) == {"text": [False, True]}
    assert absent_of(sliced(changes(), 1, None)) == {"text": [True, True]}
    assert absent_of(put(changes(), [COLUMNS.field("id")], [changes().rows["id"]])) == absent_of(changes())


def test_a_column_whose_values_have_all_arrived_has_no_mask() -> None:
    assert kept(changes(), pa.array([True, False, False])).absent == {}
    assert sliced(changes(), 0, 1).absent == {}


def test_a_row_that_needs_one_is_rejected_by_table_column_and_row() -> None:
    with pytest.raises(RowError, match="who: column 'text', row 2 of a batch of t: the change does not contain the re"):
        require_arrived(changes(), "who")
    with pytest.raises(RowError, match="REPLICA IDENTITY FULL, in MySQL and MariaDB with SET GLOBAL binlog_row_image"):
        require_arrived(evolve(changes(), kinds=None), "who", only_new_rows=True)


def test_old_rows_may_lack_values_for_who_needs_new_ones_only() -> None:
    gone = changes(text=(False, False, True))
    require_arrived(gone, "who", only_new_rows=True)
    with pytest.raises(RowError, match="row 3 of a batch"):
        require_arrived(gone, "who")


def test_nested_rows_cannot_lack_values() -> None:
    assert list(Nesting().batches(changes())) == [changes()]
    with pytest.raises(RowError, match="nesting: column 'text'"):
        list(Nesting(kind=TABLES).batches(changes()))
