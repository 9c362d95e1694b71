"""Registry of file formats. A module is imported only when a job uses its format."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

from attrs import frozen

_HERE = "seatunnel_core.connectors.file.formats"


@frozen
class Format:
    """Classes of a format, in the form ``module:class``; ``None`` if reading or writing is not supported."""

    source: str | None = None
    sink: str | None = None


FORMATS: Mapping[str, Format] = {
    "csv": Format(f"{_HERE}.text_ranges:Csv", f"{_HERE}.delimited.writer:CsvFileWriter"),
    "text": Format(f"{_HERE}.text_ranges:Text", f"{_HERE}.delimited.writer:TextFileWriter"),
    "json": Format(f"{_HERE}.text_ranges:JsonLines", f"{_HERE}.json_writer:JsonFileWriter"),
    "binary": Format(f"{_HERE}.binary:Binary", f"{_HERE}.binary:BinaryFileWriter"),
    "excel": Format(f"{_HERE}.excel:Excel", f"{_HERE}.excel:ExcelFileWriter"),
    "orc": Format(f"{_HERE}.orc.format:Orc", f"{_HERE}.orc.format:OrcFileWriter"),
    "parquet": Format(f"{_HERE}.parquet:Parquet", f"{_HERE}.parquet:ParquetFileWriter"),
    "xml": Format(f"{_HERE}.xml:Xml", f"{_HERE}.xml:XmlFileWriter"),
}

READ = tuple(name for name, format in FORMATS.items() if format.source)
WRITTEN = tuple(name for name, format in FORMATS.items() if format.sink)


def source_format(name: str) -> type[Any]:
    """Return the ``SourceFormat`` class of a format listed in ``READ``."""
    return _class(FORMATS[name].source)


def file_writer(name: str) -> type[Any]:
    """Return the ``FileWriter`` class of a format listed in ``WRITTEN``."""
    return _class(FORMATS[name].sink)


@cache
def _class(where: str | None) -> type[Any]:
    assert where is not None
    module, _, name = where.partition(":")
    found: type[Any] = getattr(import_module(module), name)
    return found
