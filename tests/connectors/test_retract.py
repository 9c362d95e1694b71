"""What the file sink takes back when a pipeline goes back to an older checkpoint (R10): its own, and nothing else."""

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve

from seatunnel_core.connector_api.capabilities import can_roll_back
from seatunnel_core.connector_api.sink import WriterContext
from seatunnel_core.connector_api.testing import commit, options_of, stage
from seatunnel_core.connector_api.testing.drive import place, sink_place
from seatunnel_core.connectors.console import ConsoleSink
from seatunnel_core.connectors.file.sink import LocalFileSink
from seatunnel_core.errors import SinkError
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.work.retraction import Retraction

SCHEMA = TableSchema(table="t", columns=pa.schema([("id", pa.int64()), ("city", pa.string())]))
BACK = Retraction(epoch=9, base_epoch=1, next_units={0: 4}, in_flight={0: frozenset({2})}, named=frozenset({"0-1-5"}))
"""To a base of epoch 1, in which unit 2 was in flight and unit 4 the next one; unit 5 stands for one that it names."""


def publish(root: Path, staging: WriterContext, **options: Any) -> LocalFileSink:
    """One unit with a row for each of two cities."""
    sink = LocalFileSink(options_of(LocalFileSink, {"path": str(root), "file_format_type": "json", **options}))
    sink.prepare(sink_place(staging))
    rows = pa.RecordBatch.from_pylist([{"id": staging.unit, "city": city} for city in ("Rome", "Oslo")], SCHEMA.columns)
    commit(sink, [stage(sink, SCHEMA, [rows], staging)], staging)
    return sink


def there(root: Path) -> list[str]:
    return sorted(str(each.relative_to(root)) for each in root.rglob("*") if each.is_file())


def test_what_came_after_the_base_goes_from_all_folders_and_all_else_stays(tmp_path: Path) -> None:
    stays = [place(unit=1), place(unit=3), place(unit=5), place(epoch=9, unit=8)]
    stays += [place(unit=4, job_id="a-job"), place(unit=4, pipeline_id=2), evolve(place(unit=4), sink_ordinal=1)]
    for staging in stays:
        publish(tmp_path, staging, partition_by=["city"])
    (tmp_path / "of somebody else").write_text("")
    before = there(tmp_path)
    for staging in (place(unit=2), place(unit=4), place(epoch=2, unit=1), place(epoch=8, unit=6)):
        sink = publish(tmp_path, staging, partition_by=["city"])
    assert len(there(tmp_path)) == len(before) + 8
    assert sink.roll_back(sink_place(place(epoch=9)), BACK) == 8
    assert there(tmp_path) == before
    assert sink.roll_back(sink_place(place(epoch=9)), BACK) == 0, "what is gone counts as taken back"


def test_staged_files_are_the_sweeps(tmp_path: Path) -> None:
    sink = publish(tmp_path, place(unit=1))
    stage(sink, SCHEMA, [pa.RecordBatch.from_pylist([{"id": 1}], SCHEMA.columns)], place(unit=2))
    before = there(tmp_path)
    assert sink.roll_back(sink_place(place(epoch=9)), BACK) == 0
    assert there(tmp_path) == before


@pytest.mark.parametrize(
    "expression", ["out-${transactionId}", "${now}-${uuid}-${transactionId}", "rows", "[a]+${transactionId}"]
)
def test_files_are_known_whatever_the_option_adds_to_their_names(tmp_path: Path, expression: str) -> None:
    named = {"custom_filename": True, "file_name_expression": expression}
    kept = publish(tmp_path, place(unit=4, job_id="a-job"))
    sink = publish(tmp_path, place(unit=4), **named)
    assert sink.roll_back(sink_place(place(epoch=9)), BACK) == 1
    assert kept.roll_back(sink_place(place(epoch=9, job_id="a-job")), BACK) == 1
    assert there(tmp_path) == []


@pytest.mark.parametrize("expression", ["${now}-${transactionId}", "${now}${transactionId}", "${uuid}${transactionId}"])
def test_the_id_of_another_job_is_no_part_of_a_moment(tmp_path: Path, expression: str) -> None:
    """A moment was anything, also one and the beginning of the id of another job whose rows lie in the same folder."""
    named = {"custom_filename": True, "file_name_expression": expression}
    for job_id in ("a-job", "2-job"):
        publish(tmp_path, place(unit=4, job_id=job_id), **named)
    before = there(tmp_path)
    sink = publish(tmp_path, place(unit=4, job_id="job"), **named)
    assert sink.roll_back(sink_place(place(epoch=9, job_id="job")), BACK) == 1
    assert there(tmp_path) == before


def test_files_are_known_after_the_option_has_changed(tmp_path: Path) -> None:
    publish(tmp_path, place(unit=4), custom_filename=True, file_name_expression="rows of ${transactionId}")
    sink = publish(tmp_path, place(unit=6))
    assert sink.roll_back(sink_place(place(epoch=9)), BACK) == 2


def test_a_folder_that_cannot_be_read_is_no_empty_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies in it would come twice."""
    sink = publish(tmp_path, place(unit=4), partition_by=["city"])
    listed = os.scandir

    def failing(path: str) -> Any:
        if "Rome" in str(path):
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(os, "scandir", failing)
    with pytest.raises(SinkError, match="city=Rome cannot be rolled back: Permission denied"):
        sink.roll_back(sink_place(place(epoch=9)), BACK)


def test_a_sink_that_cannot_says_so(tmp_path: Path) -> None:
    assert not can_roll_back(ConsoleSink(options_of(ConsoleSink, {})))
    replacing = {"path": str(tmp_path), "file_format_type": "parquet", "write_mode": "replace"}
    sink = LocalFileSink(options_of(LocalFileSink, replacing))
    assert not can_roll_back(sink)
    with pytest.raises(SinkError, match="sink LocalFile cannot roll back published output with these options"):
        sink.roll_back(sink_place(place(epoch=9)), BACK)
