"""Correction of a chunk by the log before its mark."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from attrs import evolve

from seatunnel_core.connector_api.errors import SourceError
from seatunnel_core.connectors.jdbc.fetched import Fetched, Misfit
from seatunnel_core.connectors.mysql_cdc.correction import Correction
from seatunnel_core.connectors.mysql_log.change_batch import ChangeBatch, Reason, Transaction
from seatunnel_core.connectors.mysql_log.position import LogPosition
from seatunnel_core.rows.kind import RowKind
from tests.connectors.mysql_cdc.changed import SCHEMA, changes_of

BAD, ODD = Misfit({"a": "bad"}), Misfit({"a": "odd"})
INSERT, BEFORE, AFTER, DELETE = RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE


def corrected(rows: Sequence[tuple[RowKind, int, int]], mark: int = 1_000, **more: object) -> Correction:
    """The correction by rows whose transaction ``n`` begins at ``100 * n``."""
    transactions = tuple(Transaction(n, "bin.000001", 100 * n, 0) for n in range(10))
    batch = ChangeBatch(
        reason=Reason.END,
        position=LogPosition("bin.000001", 999),
        transactions=transactions,
        changes=(changes_of(rows, **more),),  # type: ignore[arg-type]
    )
    correction = Correction(["id"])
    correction.add([batch], LogPosition("bin.000001", mark))
    return correction


def fetched(*keys: int, misfits: dict[int, Misfit] | None = None) -> Fetched:
    columns = [pa.array(keys, pa.int32()), pa.array([-1] * len(keys), pa.int32())]
    return Fetched(rows=pa.RecordBatch.from_arrays(columns, schema=SCHEMA), misfits=misfits or {})


def below_10(rows: pa.RecordBatch) -> npt.NDArray[np.bool_]:
    return np.array([key < 10 for key in rows.column("id").to_pylist()], np.bool_)


def result(correction: Correction, read: Fetched) -> dict[int, int]:
    """The key and ``a`` of each row; -1 means that it was read."""
    batches = [correction.unchanged(read).rows, *(each.rows for each in correction.changed(below_10))]
    return {row["id"]: row["a"] for batch in batches for row in batch.to_pylist()}


def test_the_last_image_of_a_key_counts() -> None:
    rows = [(INSERT, 1, 1), (BEFORE, 2, 1), (AFTER, 2, 1), (DELETE, 3, 2), (BEFORE, 4, 3), (AFTER, 4, 4)]
    assert result(corrected(rows), fetched(1, 2, 3, 5)) == {1: 2, 4: 5, 5: -1}


def test_transactions_from_the_mark_on_do_not_count() -> None:
    rows = [(DELETE, 2, 1), (INSERT, 3, 6), (DELETE, 3, 5)]
    assert result(corrected(rows, mark=300), fetched(1, 5)) == {5: -1}


def test_rows_of_other_chunks_do_not_count() -> None:
    assert result(corrected([(BEFORE, 1, 1), (AFTER, 1, 10)]), fetched(1, 2)) == {2: -1}


def test_without_changes_rows_stay_as_they_are() -> None:
    read = fetched(1, 2)
    assert Correction(["id"]).unchanged(read) is read
    assert corrected([(DELETE, 1, 7)]).unchanged(read) is read


def test_values_that_do_not_fit_stay_with_their_rows() -> None:
    correction = corrected([(DELETE, 1, 1), (INSERT, 1, 3), (INSERT, 1, 4)], misfits={2: BAD})
    assert correction.unchanged(fetched(1, 2, misfits={1: ODD})).misfits == {0: ODD}
    (changed,) = correction.changed(below_10)
    assert (changed.rows.column("id").to_pylist(), changed.misfits) == ([3, 4], {1: BAD})


def test_incomplete_rows_are_refused() -> None:
    """After an update with binlog_row_image = MINIMAL, not even the key is known."""
    incomplete = evolve(changes_of([(AFTER, 1, 1)]), layouts=np.array([[False, True]]))
    batch = ChangeBatch(
        reason=Reason.END, position=LogPosition("bin.000001", 9), transactions=(), changes=(incomplete,)
    )
    with pytest.raises(SourceError, match=r"columns of changed rows of shop\.m; run SET GLOBAL binlog_row_image"):
        Correction(["id"]).add([batch], LogPosition("bin.000001", 9))
