"""What the file sink rejects: targets that cannot be created, and updates and deletes, which a file cannot apply."""

import re
from pathlib import Path

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connector_api.testing.drive import begin, place, sink_place
from seatunnel_core.connectors.file.sink import LocalFileSink
from seatunnel_core.errors import SinkError, UsageError
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.spark.failure import kind_of
from seatunnel_core.work.failure import FailureKind
from tests.connectors.file.local_files import sink

IN_THE_WAY = {
    "/proc/nothing/x": "sink LocalFile: /proc/nothing cannot be written: ",
    "lnk": "/lnk cannot be written: it is a link to gone, which does not exist",
    "lnk/below": "/lnk cannot be written: it is a link to gone, which does not exist",
    "round/below": "/round cannot be written: it is a link to round, which does not exist",
    "file": "/file cannot be written: it is a file, not a folder",
    "file/below": "/file cannot be written: it is a file, not a folder",
}


@pytest.mark.parametrize("path", IN_THE_WAY)
def test_what_stands_in_the_way_of_a_target_is_named_at_once(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "lnk").symlink_to("gone")
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(SinkError, match=re.escape(IN_THE_WAY[path])) as found:
        sink(tmp_path / path)
    assert kind_of(found.value) is FailureKind.USAGE  # one that may pass is tried again


def test_a_target_below_a_working_folder_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "away").mkdir()
    monkeypatch.chdir(tmp_path / "away")
    (tmp_path / "away").rmdir()
    with pytest.raises(UsageError, match="'out' is relative to the folder in which the engine was started"):
        sink("out")


def test_a_file_does_not_get_changes_like_new_rows(tmp_path: Path) -> None:
    rows = pa.RecordBatch.from_pydict({"id": [1]})
    options = options_of(LocalFileSink, {"path": str(tmp_path), "file_format_type": "parquet"})
    sink = LocalFileSink(options)
    sink.prepare(sink_place(place()))
    writer = begin(sink, TableSchema(table="t", columns=rows.schema), place())
    with pytest.raises(SinkError, match=r"the table t has updated or deleted rows.*RowKindExtractor"):
        writer.write(Batch(table="t", rows=rows, kinds=pa.array([3], pa.int8())))
