"""Makes batches of rows whose values come one by one, as cells of a sheet or elements of an XML file do."""

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from attrs import field, frozen

from seatunnel_core.config.option import Options
from seatunnel_core.connectors.file import source_options as opt
from seatunnel_core.connectors.file.dialect import strptime_format
from seatunnel_core.connectors.source import ReadContext
from seatunnel_core.errors import RowError
from seatunnel_core.rows.values import plain

BATCH_ROWS = 4096


@frozen(kw_only=True)
class Texts:
    """How values are written as texts. ISO 8601 is always understood."""

    date_format: str = "yyyy-MM-dd"
    datetime_format: str = "yyyy-MM-dd HH:mm:ss"

    @classmethod
    def of(cls, options: Options) -> "Texts":
        """As the options of a source say.

        Raises:
            SourceError: a format is not understood.
        """
        found = cls(date_format=options[opt.DATE_FORMAT], datetime_format=options[opt.DATETIME_FORMAT])
        for each in (found.date_format, found.datetime_format):
            strptime_format(each)
        return found

    def value(self, found: Any, kind: pa.DataType) -> Any:
        """``found`` as Arrow takes it for ``kind``. An empty text is null, unless it is a text that is wanted.

        Raises:
            ValueError: says what was found, and what was expected.
        """
        if not isinstance(found, str) or pa.types.is_string(kind):
            return plain(found, kind)
        text = found.strip()
        if not text:
            return None
        try:
            return plain(text, kind)
        except ValueError as error:
            written = self._format(kind)
            if written is None:
                raise
            try:
                moment = dt.datetime.strptime(text, strptime_format(written))
                return plain(moment.date() if pa.types.is_date(kind) else moment, kind)
            except ValueError:
                raise ValueError(f"{error}, of the form {written}") from None

    def _format(self, kind: pa.DataType) -> str | None:
        if pa.types.is_date(kind):
            return self.date_format
        return self.datetime_format if pa.types.is_timestamp(kind) and kind.tz is None else None


@frozen(kw_only=True)
class RowBatches:
    """Turns values into rows of ``columns``; bad rows go to ``context.skip``."""

    columns: pa.Schema
    texts: Texts
    context: ReadContext = field(repr=False)

    def of(self, rows: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[pa.RecordBatch]:
        """The batches of rows, each given as where it stands and its values by name; an absent one is null."""
        held: list[dict[str, Any]] = []
        for where, values in rows:
            try:
                held.append(
                    {column.name: self._value(where, values.get(column.name), column) for column in self.columns}
                )
            except RowError as error:
                self.context.skip(error)
            if len(held) == BATCH_ROWS:
                yield self._batch(held)
                held = []
        if held:
            yield self._batch(held)

    def _value(self, where: str, found: Any, column: pa.Field) -> Any:
        try:
            value = self.texts.value(found, column.type)
        except ValueError as error:
            raise RowError(f"{where}, column {column.name!r}: {error}") from None
        if value is None and not column.nullable:
            raise RowError(f"{where}, column {column.name!r}: is null, and the schema says nullable = false")
        return value

    def _batch(self, rows: list[dict[str, Any]]) -> pa.RecordBatch:
        arrays = [pa.array([row[column.name] for row in rows], column.type) for column in self.columns]
        return pa.RecordBatch.from_arrays(arrays, schema=self.columns)
