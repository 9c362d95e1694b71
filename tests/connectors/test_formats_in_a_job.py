"""Every format through the whole engine, one after the other: what one job writes, the next one reads."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import seatunnel_core as st
from seatunnel_core.connectors.file.source import LocalFileSource
from seatunnel_core.connectors.testing import options_of, plan, read
from seatunnel_core.spark.session import SparkSettings, start, stop

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("same-rows")]

FIELDS = {"id": "bigint", "name": "string", "price": "decimal(12, 3)", "day": "date", "at": "timestamp"}
SHARED: dict[str, Any] = {"xml_row_tag": "RECORD", "schema": {"fields": FIELDS}}


@pytest.fixture(scope="module", autouse=True)
def one_spark_for_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("spark")
    running = start(SparkSettings(parallelism=2, log_file=folder / "spark.log", cache=folder))
    yield
    stop(running)


def rows_in(folder: Path, **options: Any) -> list[dict[str, Any]]:
    made = LocalFileSource(options_of(LocalFileSource, {"path": str(folder), **SHARED, **options}))
    return sorted(read(made, plan(made)), key=lambda row: row["id"])


def test_the_rows_are_the_same_from_format_to_format(tmp_path: Path) -> None:
    engine = tmp_path / "seatunnel.yaml"
    engine.write_text(
        "seatunnel:\n  engine:\n    checkpoint:\n      storage:\n        type: hdfs\n"
        f"        plugin-config:\n          namespace: {tmp_path}/checkpoints/\n"
    )
    steps: list[tuple[int, str, dict[str, Any], dict[str, Any]]] = [
        (2, "parquet", {}, {}),
        (8, "orc", {"batch_size": 40}, {}),
        (2, "excel", {}, {"skip_header_row_number": 1}),
        (1, "xml", {"encoding": "utf-16"}, {"encoding": "utf-16"}),
        (8, "json", {"compress_codec": "lzo"}, {"compress_codec": "lzo"}),
    ]
    job = st.Job("make", {"parallelism": 2})
    rows = job.source("FakeSource", **{"schema": {"fields": FIELDS}, "row.num": 100, "split.num": 3, "seed": 7})
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


def test_files_are_copied(tmp_path: Path) -> None:
    engine = tmp_path / "seatunnel.yaml"
    engine.write_text(
        "seatunnel:\n  engine:\n    checkpoint:\n      storage:\n        type: hdfs\n"
        f"        plugin-config:\n          namespace: {tmp_path}/checkpoints/\n"
    )
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
