"""Reader of one split of a file, and inference of columns if the job declares none."""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen

from seatunnel_core import stored
from seatunnel_core.connector_api.errors import RowError, SourceError
from seatunnel_core.connector_api.source import ReadContext
from seatunnel_core.connectors.file.formats.source_format import SourceFormat
from seatunnel_core.connectors.filesystems.filesystem import OpenFile
from seatunnel_core.rows.schema_text import schema_from_text, schema_to_text
from seatunnel_core.rows.values import plain


@frozen(kw_only=True)
class FileReading:
    """Reader of the files of a source."""

    format: SourceFormat
    declared: pa.Schema | None
    """Declared columns, in the order of the file; ``None`` if columns are inferred."""

    chosen: tuple[str, ...] = ()
    """Columns in ``read_columns``; empty for all."""

    defaults: Mapping[str, Any] = field(factory=dict)
    """Default values by column name, which replace missing values and null."""

    lacks_any: bool = False
    """True if any nullable column may be missing in a file."""

    def infer(self, file: OpenFile) -> pa.Schema:
        """Return the columns of a file; raise ``SourceError`` if the columns cannot be inferred."""
        try:
            return self.format.infer(file)
        except RowError as error:
            raise SourceError(f"{file.version.path}: {error}") from error

    def found(self, file: OpenFile, start: int, end: int) -> Any:
        """Return information about the columns of a chunk, as JSON for ``SourceFormat.columns_found``, or ``None``."""
        if self.format.sample():
            return self.format.found(file, start, end)
        return schema_to_text(self.infer(file)) if start == 0 and file.version.size else None

    def read(
        self, file: OpenFile, body: Mapping[str, Any], context: ReadContext, folders: Mapping[str, str | None]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a split with the columns of ``wanted``. Partition values in ``folders`` replace nulls."""
        columns = self._columns(file, body)
        wanted = self.wanted(columns)
        absent = self._absent(wanted, folders, file.version.path)
        if not absent:
            return self.format.read(file, body, columns, wanted, context)
        self.format.let_lack(frozenset(absent))
        rows = self.format.read(file, body, _lenient(columns, absent), _lenient(wanted, absent), context)
        return (_filled(each, wanted, absent) for each in rows)

    def _absent(self, wanted: pa.Schema, folders: Mapping[str, str | None], path: str) -> dict[str, Any]:
        """Return the values that replace nulls and fill columns that the file lacks, keyed by column name."""
        found: dict[str, Any] = {column.name: None for column in wanted if self.lacks_any and column.nullable}
        found |= self.defaults
        for column in wanted:
            text = folders.get(column.name)
            try:
                if text is not None:
                    found[column.name] = plain(text, column.type)
                elif column.name in folders and column.nullable:
                    found.setdefault(column.name, None)
            except ValueError as error:
                raise RowError(f"{path}, column {column.name!r}: partition folder: {error}") from None
        return found

    def wanted(self, columns: pa.Schema) -> pa.Schema:
        """Return the columns that the job reads; raise ``SourceError`` if ``read_columns`` contains unknown columns."""
        known = set(columns.names)
        unknown = [name for name in self.chosen if name not in known]
        if unknown:
            raise SourceError(
                f"read_columns contains unknown columns {', '.join(unknown)}; expected some of "
                f"{', '.join(columns.names)}"
            )
        return pa.schema([columns.field(name) for name in self.chosen]) if self.chosen else columns

    def _columns(self, file: OpenFile, body: Mapping[str, Any]) -> pa.Schema:
        if self.declared is not None:
            return self.declared
        if "columns" in body:
            return schema_from_text(stored.text(body, "columns"))
        return self.infer(file)


def _lenient(columns: pa.Schema, absent: Mapping[str, Any]) -> pa.Schema:
    """Return the columns that a file may contain. A column is nullable if its nulls are replaced by another value."""
    return pa.schema([column.with_nullable(True) if column.name in absent else column for column in columns])


def _filled(rows: pa.RecordBatch, wanted: pa.Schema, absent: Mapping[str, Any]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([_values(rows, column, absent) for column in wanted], schema=wanted)


def _values(rows: pa.RecordBatch, column: pa.Field, absent: Mapping[str, Any]) -> pa.Array:
    if column.name not in absent:
        return rows.column(column.name)
    if column.name in rows.schema.names and absent[column.name] is None:
        return rows.column(column.name)
    value = pa.repeat(pa.scalar(absent[column.name], column.type), rows.num_rows)
    if column.name not in rows.schema.names:
        return value
    found = rows.column(column.name)
    return pc.if_else(found.is_valid(), found, value) if found.null_count else found
