"""What a work unit reads, as a message names it."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
from attrs import evolve

from seatunnel_core.connector_api.source import Source
from seatunnel_core.connector_api.testing.drive import options_of, plan
from seatunnel_core.connectors.fake.source import FakeSource
from seatunnel_core.connectors.file.source import LocalFileSource
from seatunnel_core.spark.failure import reading

SCHEMA = {"fields": {"id": "bigint"}}


def said(source: Source, first: int, last: int) -> str:
    return reading(source, plan(source).splits[first:last])


def test_rows_that_are_made_up_are_named_by_their_numbers() -> None:
    source = FakeSource(options_of(FakeSource, {"schema": SCHEMA, "row.num": 100, "split.num": 4}))
    assert said(source, 1, 3) == "rows 26 to 50; rows 51 to 75"


def test_splits_of_one_file_are_named_together(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("".join(f"{number:03}\n" for number in range(100)))
    more = {"file_format_type": "csv", "schema": SCHEMA, "split_size": 100}
    source = LocalFileSource(options_of(LocalFileSource, {"path": str(tmp_path), **more}))
    assert said(source, 1, 3) == f"{tmp_path}/a.csv, bytes 100 to 300"


def test_row_groups_are_named(tmp_path: Path) -> None:
    pa.parquet.write_table(pa.table({"id": range(100)}), tmp_path / "a.parquet", row_group_size=10)
    more = {"file_format_type": "parquet", "split_size": 1}
    source = LocalFileSource(options_of(LocalFileSource, {"path": str(tmp_path), **more}))
    assert said(source, 2, 5) == f"{tmp_path}/a.parquet, row groups 2 to 4"


def test_of_many_files_some_are_named(tmp_path: Path) -> None:
    for name in "abcdefgh":
        (tmp_path / f"{name}.csv").write_text("1\n")
    more = {"file_format_type": "csv", "schema": SCHEMA}
    source = LocalFileSource(options_of(LocalFileSource, {"path": str(tmp_path), **more}))
    assert said(source, 0, 5) == "; ".join(f"{tmp_path}/{name}.csv, bytes 0 to 2" for name in "abcde")
    assert said(source, 0, 8).endswith("e.csv, bytes 0 to 2; and 3 more")


def test_a_source_that_does_not_say_has_numbers() -> None:
    source = FakeSource(options_of(FakeSource, {"schema": SCHEMA, "row.num": 2, "split.num": 2}))
    first, second = plan(source).splits
    assert Source.describe(source, [first, evolve(second, index=8)]) == ["split 0", "split 8"]
