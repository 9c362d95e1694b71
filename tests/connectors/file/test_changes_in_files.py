"""Updates and deletes, which a file cannot apply."""

from pathlib import Path

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connector_api.testing.drive import begin, place, sink_place
from seatunnel_core.connectors.file.sink import LocalFileSink
from seatunnel_core.errors import RowError
from seatunnel_core.rows.batch import Batch, TableSchema


def test_a_file_does_not_get_changes_like_new_rows(tmp_path: Path) -> None:
    rows = pa.RecordBatch.from_pydict({"id": [1]})
    options = options_of(LocalFileSink, {"path": str(tmp_path), "file_format_type": "parquet"})
    sink = LocalFileSink(options)
    sink.prepare(sink_place(place()))
    writer = begin(sink, TableSchema(table="t", columns=rows.schema), place())
    with pytest.raises(RowError, match=r"the table t has updated or deleted rows.*RowKindExtractor"):
        writer.write(Batch(table="t", rows=rows, kinds=pa.array([3], pa.int8())))
