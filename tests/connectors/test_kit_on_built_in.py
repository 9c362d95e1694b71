"""The kit's suites on the built-in connectors."""

import csv
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connector_api.testing import (
    EndlessSourceConformance,
    SinkConformance,
    SourceConformance,
    options_of,
    plan,
    read,
)
from seatunnel_core.connectors.fake.source import FakeSource
from seatunnel_core.connectors.file.sink import LocalFileSink
from seatunnel_core.connectors.file.source import LocalFileSource

FIELDS = {"fields": {"id": "bigint", "name": "string"}}
ROWS = [{"id": number, "name": None if number % 7 == 0 else f"näme\n{number}"} for number in range(300)]


class OfFiles(SourceConformance):
    """Three files, one of them empty."""

    source_class = LocalFileSource
    format: str
    more: ClassVar[Mapping[str, Any]] = {"schema": FIELDS}

    @pytest.fixture(autouse=True)
    def files(self, tmp_path: Path) -> None:
        self.folder = tmp_path
        (tmp_path / "deep").mkdir()
        self.write(tmp_path / "a", ROWS[:200])
        self.write(tmp_path / "deep" / "b", ROWS[200:])
        (tmp_path / "_ignored").write_text("not a row")

    def write(self, path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        raise NotImplementedError

    def options(self) -> Mapping[str, Any]:
        return {"path": str(self.folder), "file_format_type": self.format, "split_size": 500, **self.more}

    def expected(self) -> Sequence[Mapping[str, Any]]:
        return ROWS


class TestCsv(OfFiles):
    format = "csv"

    def write(self, path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        with path.open("w", newline="") as file:
            csv.writer(file).writerows((row["id"], row["name"]) for row in rows)


class TestCsvWithHeaderAndWithoutSchema(TestCsv):
    more: ClassVar[Mapping[str, Any]] = {"csv_use_header_line": True}

    def write(self, path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "name"])
            writer.writerows((row["id"], row["name"]) for row in rows)


class TestJson(OfFiles):
    format = "json"

    def write(self, path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))


class TestJsonWithoutSchema(TestJson):
    more: ClassVar[Mapping[str, Any]] = {}


class TestParquet(OfFiles):
    format = "parquet"
    more: ClassVar[Mapping[str, Any]] = {}

    def write(self, path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        columns = pa.schema([("id", pa.int64()), ("name", pa.string())])
        pq.write_table(pa.Table.from_pylist(list(rows), schema=columns), path, row_group_size=40)


class TestGzippedCsv(TestCsv):
    more: ClassVar[Mapping[str, Any]] = {"schema": FIELDS, "compress_codec": "gzip"}

    def write(self, path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        super().write(path, rows)
        plain = path.read_bytes()
        with pa.CompressedOutputStream(str(path), "gzip") as packed:
            packed.write(plain)


class TestFakeSource(SourceConformance):
    source_class = FakeSource

    def options(self) -> Mapping[str, Any]:
        kinds = ("string", "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "date", "time")
        fields: dict[str, Any] = {f"c_{kind}": kind for kind in (*kinds, "timestamp", "timestamp_tz", "bytes", "null")}
        fields |= {
            "c_decimal": "decimal(30, 8)",
            "c_array": "array<int>",
            "c_map": "map<string, array<int>>",
            "c_row": {"a": "int", "b": "map<int, string>"},
        }
        return {"schema": {"fields": fields}, "row.num": 700, "split.num": 3, "split.read-interval": 0, "seed": 11}

    def expected(self) -> Sequence[Mapping[str, Any]]:
        whole = self.source_class(options_of(FakeSource, {**self.options(), "split.num": 1, "row.num": 1400}))
        return read(whole, plan(whole, PlanningContext(parallelism=1)))


class TestFakeSourceWithoutEnd(EndlessSourceConformance):
    source_class = FakeSource

    def options(self) -> Mapping[str, Any]:
        return {"schema": FIELDS, "row.num": 70, "split.num": 4, "split.read-interval": 2_000}

    def expected(self) -> Sequence[Mapping[str, Any]]:
        source = self.source_class(options_of(FakeSource, {**self.options(), "split.read-interval": 0}))
        return read(source, plan(source, self.planning))

    def wait(self, pause_ms: int) -> None:
        """It has no clock: the engine waits."""


class TestWatchedCsv(EndlessSourceConformance):
    source_class = LocalFileSource

    @pytest.fixture(autouse=True)
    def files(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.now_ns = tmp_path, 10**18
        monkeypatch.setattr("seatunnel_core.connectors.file.source.time.time_ns", lambda: self.now_ns)
        for number in range(3):
            TestCsv().write(tmp_path / f"{number}.csv", ROWS[number * 100 : number * 100 + 100])

    def options(self) -> Mapping[str, Any]:
        more = {"discovery_mode": "continuous", "schema": FIELDS, "split_size": 500}
        return {"path": str(self.folder), "file_format_type": "csv", **more}

    def expected(self) -> Sequence[Mapping[str, Any]]:
        return ROWS

    def wait(self, pause_ms: int) -> None:
        self.now_ns += pause_ms * 1_000_000


class OfTheFileSink(SinkConformance):
    sink_class = LocalFileSink
    format: str
    more: ClassVar[Mapping[str, Any]] = {}

    @pytest.fixture(autouse=True)
    def target(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "target"

    def emptying(self) -> Mapping[str, Any]:
        return {**self.options(), "data_save_mode": "DROP_DATA"}

    def elsewhere(self) -> Mapping[str, Any]:
        return {**self.options(), "path": f"{self.folder}-2"}

    def options(self) -> Mapping[str, Any]:
        return {"path": str(self.folder), "file_format_type": self.format, **self.more}

    def staged(self) -> int:
        return sum(path.is_file() for path in (self.folder / ".seatunnel").rglob("*"))

    def lose(self) -> bool:
        shutil.rmtree(self.folder)
        return True

    def visible(self) -> Sequence[Mapping[str, Any]]:
        paths = sorted(path for path in self.folder.rglob("*") if path.is_file() and ".seatunnel" not in path.parts)
        return [row for path in paths for row in self.rows_of(path)]

    def rows_of(self, path: Path) -> Sequence[Mapping[str, Any]]:
        raise NotImplementedError


class TestParquetSink(OfTheFileSink):
    format = "parquet"

    def rows_of(self, path: Path) -> Sequence[Mapping[str, Any]]:
        return pq.ParquetFile(path).read().to_pylist()


class TestPartitionedParquetSink(TestParquetSink):
    more: ClassVar[Mapping[str, Any]] = {
        "partition_by": ["name"],
        "is_partition_field_write_in_file": True,
        "batch_size": 2,
    }


class TestCsvSink(OfTheFileSink):
    format = "csv"
    more: ClassVar[Mapping[str, Any]] = {
        "enable_header_write": True,
        "custom_filename": True,
        "file_name_expression": "rows_${now}",
    }

    def rows_of(self, path: Path) -> Sequence[Mapping[str, Any]]:
        with path.open(newline="") as file:
            return list(csv.DictReader(file))


class TestJsonSink(OfTheFileSink):
    format = "json"

    def rows_of(self, path: Path) -> Sequence[Mapping[str, Any]]:
        return [json.loads(line) for line in path.read_text().splitlines()]


class TestTextSink(OfTheFileSink):
    format = "text"

    def rows_of(self, path: Path) -> Sequence[Mapping[str, Any]]:
        return [dict(zip(("id", "name"), line.split("\x01"), strict=True)) for line in path.read_text().splitlines()]
