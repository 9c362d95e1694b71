"""What a batch tells of its rows."""

import pyarrow as pa
import pytest

from seatunnel_core.rows.batch import Batch


@pytest.mark.parametrize(
    ("kinds", "inserts_only"), [(None, True), ([], True), ([0, 0], True), ([0, 2], False), ([3], False)]
)
def test_it_knows_whether_all_its_rows_are_inserts(kinds: list[int] | None, inserts_only: bool) -> None:
    rows = pa.RecordBatch.from_pylist([{"id": 1}] * len(kinds or ()), pa.schema({"id": pa.int64()}))
    batch = Batch(table="default", rows=rows, kinds=None if kinds is None else pa.array(kinds, pa.int8()))
    assert batch.inserts_only is inserts_only
