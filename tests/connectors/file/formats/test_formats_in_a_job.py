"""Every format through the whole engine, one after the other: what one job writes, the next one reads."""

from pathlib import Path
from typing import Any

import pytest

import seatunnel_core as st
from seatunnel_core.connector_api.testing import options_of, read
from seatunnel_core.connectors.file.source import LocalFileSource
from tests.runtime.command import engine_file

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("same-rows"), pytest.mark.usefixtures("one_spark_for_all")]

FIELDS = {"id": "bigint", "name": "string", "price": "decimal(12, 3)", "day": "date", "at": "timestamp"}
SHARED: dict[str, Any] = {"xml_row_tag": "RECORD", "schema": {"fields": FIELDS}}


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    return engine_file(tmp_path)


def rows_in(folder: Path, **options: Any) -> list[dict[str, Any]]:
    made = LocalFileSource(options_of(LocalFileSource, {"path": str(folder), **SHARED, **options}))
    return sorted(read(made), key=lambda row: row["id"])


def test_the_rows_are_the_same_from_format_to_format(tmp_path: Path, engine: Path) -> None:
    steps: list[tuple[int, str, dict[str, Any], dict[str, Any]]] = [
        (2, "parquet", {}, {}),
        (8, "orc", {"batch_size": 40}, {}),
        (2, "excel", {}, {"skip_header_row_number": 1}),
        (1, "xml", {"encoding": "utf-16"}, {"encoding": "utf-16"}),
        (8, "json", {"compress_codec": "lzo"}, {"compress_codec": "lzo"}),
    ]
    job = st.Job("make", {"parallelism": 2})
    options: dict[str, Any] = {"schema": {"fields": FIELDS}, "row.num": 100, "split.num": 3, "seed": 7}
    rows = job.source("FakeSource", **options)
    expected: list[dict[str, Any]] = []
    for parallelism, format, written, back in steps:
        rows.sink("LocalFile", path=str(tmp_path / format), file_format_type=format, **written)
        job.run(engine_config=engine)
        found = rows_in(tmp_path / format, file_format_type=format, **back)
        expected = expected or found
        assert (len(found), found) == (200, expected)
        job = st.Job(f"from {format}", {"parallelism": parallelism})
        source = {"path": str(tmp_path / format), "file_format_type": format, **SHARED, **back}
        rows = job.source("LocalFile", **source)


def test_files_are_copied(tmp_path: Path, engine: Path) -> None:
    files = {f"{number % 3}/{number}.bin": bytes(range(number)) * 50 for number in range(20)}
    for name, content in files.items():
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_bytes(content)
    job = st.Job("copy", {"parallelism": 8})
    rows = job.source("LocalFile", path=str(tmp_path / "in"), file_format_type="binary", binary_chunk_size=100)
    rows.sink("LocalFile", path=str(tmp_path / "out"), file_format_type="binary")
    job.run(engine_config=engine)
    copied = {str(path.relative_to(tmp_path / "out")): path.read_bytes() for path in (tmp_path / "out").glob("*/*.bin")}
    assert copied == files
