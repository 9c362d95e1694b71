"""The kit's suites on the file formats that need a library of their own, and what holds for each of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar
from xml.etree import ElementTree

import openpyxl
import pyarrow as pa
import pyarrow.orc as orc
import pytest

from seatunnel_core.connector_api.sink import SinkWriter, WriterContext
from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connector_api.testing import SourceConformance, plan, read
from seatunnel_core.connectors.file.formats.binary import COLUMNS
from seatunnel_core.connectors.file.sink import LocalFileSink
from seatunnel_core.connectors.file.source import LocalFileSource
from seatunnel_core.rows.batch import Batch, TableSchema
from tests.connectors.file.local_files import sheet
from tests.connectors.test_kit_on_built_in import FIELDS, OfFiles, OfTheFileSink


class InEveryShape(OfFiles):
    """The same rows, however the work is cut (kept apart from the kit, which has one shape)."""

    @pytest.mark.parametrize("parallelism", [1, 2, 8])
    def test_the_rows_do_not_depend_on_the_parallelism(self, parallelism: int) -> None:
        source = self.source()
        found = read(source, plan(source, PlanningContext(parallelism=parallelism)))
        assert sorted(found, key=lambda row: row["id"]) == list(self.expected())


class TestOrc(InEveryShape):
    format = "orc"
    more: ClassVar[Mapping[str, Any]] = {}

    def write(self, path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        """Many stripes: one is not smaller than a batch of the writer."""
        table = pa.Table.from_pylist(list(rows), pa.schema([("id", pa.int64()), ("name", pa.string())]))
        with orc.ORCWriter(path, batch_size=20, stripe_size=1) as writer:
            writer.write(table)


class TestOrcSink(OfTheFileSink):
    format = "orc"

    def rows_of(self, path: Path) -> Sequence[Mapping[str, Any]]:
        return orc.ORCFile(path).read().to_pylist()


class TestExcel(InEveryShape):
    format = "excel"
    more: ClassVar[Mapping[str, Any]] = {"schema": FIELDS, "skip_header_row_number": 1}

    def write(self, path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        sheet(path, ("id", "name"), *(row.values() for row in rows))


class TestExcelSink(OfTheFileSink):
    format = "excel"

    def rows_of(self, path: Path) -> Sequence[Mapping[str, Any]]:
        names, *rows = openpyxl.load_workbook(path).active.iter_rows(values_only=True)
        return [dict(zip(names, row, strict=True)) for row in rows]


class TestXml(InEveryShape):
    format = "xml"
    more: ClassVar[Mapping[str, Any]] = {"schema": FIELDS, "xml_row_tag": "row"}

    def write(self, path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        root = ElementTree.Element("rows")
        for row in rows:
            element = ElementTree.SubElement(root, "row")
            for key, value in row.items():
                if value is not None:
                    ElementTree.SubElement(element, key).text = str(value)
        ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


class TestXmlSink(OfTheFileSink):
    format = "xml"

    def rows_of(self, path: Path) -> Sequence[Mapping[str, Any]]:
        return [{each.tag: each.text for each in row} for row in ElementTree.parse(path).getroot()]


class TestBinary(SourceConformance):
    source_class = LocalFileSource

    @pytest.fixture(autouse=True)
    def files(self, tmp_path: Path) -> None:
        self.folder = tmp_path
        (tmp_path / "deep").mkdir()
        (tmp_path / "a.bin").write_bytes(bytes(range(250)))
        (tmp_path / "deep" / "empty").write_bytes(b"")

    def options(self) -> Mapping[str, Any]:
        return {"path": str(self.folder), "file_format_type": "binary", "binary_chunk_size": 100}

    def expected(self) -> Sequence[Mapping[str, Any]]:
        pieces = [bytes(range(100)), bytes(range(100, 200)), bytes(range(200, 250))]
        of_a = [{"data": data, "relativePath": "a.bin", "partIndex": part} for part, data in enumerate(pieces)]
        return [*of_a, {"data": b"", "relativePath": "deep/empty", "partIndex": 0}]


class CopiesOfIds(LocalFileSink):
    """Takes the rows of the kit, and copies a file for each of them."""

    def check_schema(self, schema: TableSchema) -> None: ...

    def open_writer(self, schemas: Sequence[TableSchema], context: WriterContext) -> SinkWriter:
        writer = super().open_writer(schemas, context)
        copy = writer.write

        def write(batch: Batch) -> None:
            names = [f"deep/{id}" for id in batch.rows.column("id").to_pylist()]
            copies = [pa.array(each) for each in ([b"x"] * len(names), names, [0] * len(names))]
            copy(Batch(table=batch.table, rows=pa.RecordBatch.from_arrays(copies, schema=COLUMNS)))

        writer.write = write  # type: ignore[method-assign]
        return writer


class TestBinarySink(OfTheFileSink):
    format = "binary"
    sink_class = CopiesOfIds

    def rows_of(self, path: Path) -> Sequence[Mapping[str, Any]]:
        assert path.read_bytes() == b"x"
        return [{"id": path.name}]
