"""Rows of Parquet and ORC files that do not fit the columns of a ``schema`` are named, and left out by ``SKIP``."""

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from seatunnel_core.connector_api.testing import Skipped, plan
from seatunnel_core.errors import RowError
from tests.connectors.file.local_files import source

COLUMNS = [{"name": "id", "type": "int", "nullable": False}, {"name": "small", "type": "tinyint"}]
TABLE = pa.table(
    {
        "id": pa.array(["0", "x", "2", None, "4", "5", "y"]),
        "small": pa.array([0, 1, 300, 3, None, 5, 300], pa.int64()),
    }
)
GOOD = [{"id": 0, "small": 0}, {"id": 4, "small": None}, {"id": 5, "small": 5}]
FORMATS = ["parquet", "orc"]


def write(path: Path, table: pa.Table, format: str, **options: Any) -> None:
    (pq.write_table if format == "parquet" else orc.write_table)(table, path, **options)


def rows(path: Path, format: str, context: Skipped, columns: Any = COLUMNS, **options: Any) -> list[dict[str, Any]]:
    made = source(path, file_format_type=format, schema={"columns": columns}, **options)
    read = (batch for split in plan(made).splits for batch in made.read(split, context))
    return [row for batch in read for row in batch.rows.to_pylist()]


@pytest.mark.parametrize("format", FORMATS)
def test_bad_rows_are_named_and_left_out(tmp_path: Path, format: str) -> None:
    write(tmp_path / "f", TABLE, format)
    skipped = Skipped(fail=False)
    assert rows(tmp_path, format, skipped) == GOOD
    where = f"{tmp_path}/f, {'stripe 0, ' if format == 'orc' else ''}row"
    is_no_int = "the file has string, expected int: Failed to parse string"
    too_large = "the file has bigint, expected tinyint: Integer value 300 not in range"
    for found, said in zip(
        skipped.errors,
        [
            f"{where} 2, column 'id': 'x': {is_no_int}",
            f"{where} 3, column 'small': '300': {too_large}",
            f"{where} 4, column 'id': the value is null, but the schema has nullable = false",
            f"{where} 7, column 'id': 'y': {is_no_int}",
        ],
        strict=True,
    ):
        assert str(found).startswith(said)


@pytest.mark.parametrize("format", FORMATS)
def test_the_first_bad_row_fails_unless_the_job_says_otherwise(tmp_path: Path, format: str) -> None:
    write(tmp_path / "f", TABLE, format)
    with pytest.raises(RowError, match="row 2, column 'id': 'x': the file has string, expected int"):
        rows(tmp_path, format, Skipped())


def test_rows_are_counted_in_the_whole_file(tmp_path: Path) -> None:
    write(tmp_path / "f", TABLE, "parquet", row_group_size=2)
    skipped = Skipped(fail=False)
    assert rows(tmp_path, "parquet", skipped, split_size=1) == GOOD
    assert [str(error).split("row ")[1].partition(",")[0] for error in skipped.errors] == ["2", "3", "4", "7"]


def test_a_batch_may_have_no_good_row_and_a_value_nanoseconds(tmp_path: Path) -> None:
    write(tmp_path / "f", pa.table({"at": pa.array([1, 2_000, 3], pa.timestamp("ns"))}), "parquet")
    skipped = Skipped(fail=False)
    found = rows(tmp_path, "parquet", skipped, [{"name": "at", "type": "timestamp"}])
    assert found == [{"at": dt.datetime(1970, 1, 1, 0, 0, 0, 2)}]
    assert "row 1, column 'at': '1970-01-01 00:00:00.000000001': the file has" in str(skipped.errors[0])
    write(tmp_path / "f", pa.table({"at": ["then", "now"]}), "parquet")
    assert rows(tmp_path, "parquet", skipped, [{"name": "at", "type": "date"}]) == []


def test_types_that_never_go_together_are_an_error_of_the_file(tmp_path: Path) -> None:
    write(tmp_path / "f", pa.table({"id": [{"a": 1}]}), "parquet")
    with pytest.raises(RowError, match=r"/f, column 'id': the file has \{.*\}, expected int: "):
        rows(tmp_path, "parquet", Skipped(fail=False), [{"name": "id", "type": "int"}])
