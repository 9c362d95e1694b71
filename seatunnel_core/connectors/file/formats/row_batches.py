"""Construction of row batches from single values, such as cells of a sheet or elements of an XML file."""

import datetime as dt
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from attrs import field, frozen

from seatunnel_core.connector_api.errors import RowError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connector_api.source import ReadContext
from seatunnel_core.connectors.file import source_options as opt
from seatunnel_core.connectors.file.formats.delimited.dialect import ISO_LIKE, reading_format
from seatunnel_core.rows.types import type_name
from seatunnel_core.rows.values import Converter, converter, row_converter

BATCH_ROWS = 4096
_ISO = re.compile(r"\d{4}-\d\d-\d\d")


@frozen(kw_only=True)
class Texts:
    """Parser for values in strings. ISO 8601 is always accepted."""

    date_format: str = "yyyy-MM-dd"
    datetime_format: str = "yyyy-MM-dd HH:mm:ss"

    @classmethod
    def of(cls, options: Options) -> "Texts":
        """Return the parser for the options of a source; raise ``SourceError`` if a format is invalid."""
        found = cls(date_format=options[opt.DATE_FORMAT], datetime_format=options[opt.DATETIME_FORMAT])
        for each in (found.date_format, found.datetime_format):
            reading_format(each)
        return found

    def value(self, found: Any, kind: pa.DataType) -> Any:
        """Convert a value to a form that Arrow accepts for a type. Except for strings, an empty string is null."""
        return self.converter(kind)(found)

    def converter(self, kind: pa.DataType) -> Converter:
        """Return a function that converts values to one type, as ``value`` does."""
        convert, written = converter(kind), self._format(kind)
        own = reading_format(written) if written and not ISO_LIKE.fullmatch(written) else None
        if pa.types.is_string(kind):
            return convert

        def read(found: Any) -> Any:
            if not isinstance(found, str):
                return convert(found)
            text = found.strip()
            if not text:
                return None
            try:
                if own is None or _ISO.match(text):
                    return convert(text)
                moment = dt.datetime.strptime(text, own)  # ISO 8601 is not tried, because day and month may be swapped.
            except ValueError as error:
                said = str(error) if own is None or _ISO.match(text) else f"{text!r} is not of type {type_name(kind)}"
                raise ValueError(f"{said}, in the format {written}" if written else said) from None
            return convert(moment.date() if pa.types.is_date(kind) else moment)

        return read

    def _format(self, kind: pa.DataType) -> str | None:
        if pa.types.is_date(kind):
            return self.date_format
        return self.datetime_format if pa.types.is_timestamp(kind) and kind.tz is None else None


@frozen(kw_only=True)
class RowBatches:
    """Converter from values to rows with ``columns``; bad rows are passed to ``context.skip``."""

    columns: pa.Schema
    converter: Callable[[pa.DataType], Converter]
    """Function that returns the converter for a type, such as ``Texts.converter``. It may raise ``ValueError``."""

    context: ReadContext = field(repr=False)

    def of(self, rows: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[pa.RecordBatch]:
        """Yield batches of rows. ``rows`` are pairs of a position and the values by column; a missing value is null."""
        convert = row_converter(self.columns, self.converter)
        held: list[dict[str, Any]] = []
        for where, values in rows:
            try:
                held.append(convert(values))
            except ValueError as error:
                self.context.skip(RowError(f"{where}, {error}"))
            if len(held) == BATCH_ROWS:
                yield self._batch(held)
                held = []
        if held:
            yield self._batch(held)

    def _batch(self, rows: list[dict[str, Any]]) -> pa.RecordBatch:
        arrays = [pa.array([row[column.name] for row in rows], column.type) for column in self.columns]
        return pa.RecordBatch.from_arrays(arrays, schema=self.columns)
