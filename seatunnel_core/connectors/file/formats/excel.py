"""The format ``excel``: reads ``.xlsx`` and ``.xls``, writes ``.xlsx``.

Cells contain 64-bit numbers, strings and booleans; a date is a number with a format. Values that a cell cannot
represent are written as strings, so that they are read back unchanged: integers above 2^53, decimals of more than 15
digits, microseconds, and dates before March 1900, which Excel counts differently.
"""

import datetime as dt
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import reduce
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_core.connector_api.errors import ConnectorError, RowError, SinkError, SourceError, UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connector_api.source import ReadContext
from seatunnel_core.connectors.file import source_options as opt
from seatunnel_core.connectors.file.formats import xlsx
from seatunnel_core.connectors.file.formats.delimited.delimiter import text_or_pattern
from seatunnel_core.connectors.file.formats.row_batches import RowBatches, Texts
from seatunnel_core.connectors.file.formats.sheets import NoSheetError, opened_sheet
from seatunnel_core.connectors.file.formats.source_format import DeclaredFormat
from seatunnel_core.connectors.file.formats.writer import FileStyle, FileWriter
from seatunnel_core.connectors.filesystems.filesystem import OpenFile
from seatunnel_core.rows.types import type_name
from seatunnel_core.rows.value_text import json_text, shortest
from seatunnel_core.rows.values import Converter

MOST_ROWS = 1_048_576
"""Maximum number of rows of a sheet, including its header."""

MOST_COLUMNS = 16_384
MOST_CHARACTERS = 32_767
"""Maximum length of a string in a cell, in UTF-16 code units."""

_BYTES = re.compile(r"\[\s*(?:-?\d{1,3}(?:\s*,\s*-?\d{1,3})*)?\s*\]")
_EXACT = 2**53
_DIGITS = 15
_FIRST_DAY = dt.date(1900, 3, 1)


class Excel(DeclaredFormat):
    """Format with one split per file. An ``.xlsx`` file is read row by row; an ``.xls`` file is loaded into memory."""

    task_modules = ("openpyxl", "xlrd")
    names: ClassVar[str] = "the columns in the order of the sheet"

    def __init__(self, name: str, options: Options) -> None:
        super().__init__(name, options)
        self._texts = Texts.of(options)
        text, pattern = text_or_pattern(options[opt.FIELD_DELIMITER] or "\x01")
        self._between = re.compile(pattern or re.escape(text))

    def read(
        self, file: OpenFile, body: Mapping[str, Any], columns: pa.Schema, wanted: pa.Schema, context: ReadContext
    ) -> Iterator[pa.RecordBatch]:
        rows = self._values(file, columns)
        yield from RowBatches(columns=wanted, converter=self._converter, context=context).of(rows)
        file.check()

    def _values(self, file: OpenFile, columns: pa.Schema) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the position and the values of each row. Empty rows are skipped."""
        path = file.version.path
        with file.python_file() as content:
            try:
                texts = frozenset(at for at, column in enumerate(columns) if _is_text(column.type))
                with opened_sheet(content, self.options[opt.SHEET_NAME], texts) as (name, rows):
                    for number, row in enumerate(rows, 1):
                        found = row[: len(columns)]  # Cells next to the table do not belong to it.
                        if number > self.options[opt.SKIP_HEADER] and any(cell is not None for cell in found):
                            cells = zip(columns, found, strict=False)
                            values = {column.name: cell for column, cell in cells}
                            yield f"{path}, sheet {name!r}, row {number}", values
            except NoSheetError as error:
                raise SourceError(f"{path} has no sheet {error}") from None
            except (GeneratorExit, ConnectorError):
                raise
            except Exception as error:  # The libraries raise arbitrary errors for unexpected bytes.
                raise SourceError(
                    f"{path} is not an Excel file, or is damaged: {type(error).__name__}: {error}"
                ) from error

    def _converter(self, kind: pa.DataType) -> Converter:
        convert = self._texts.converter(kind)
        return lambda cell: convert(self._cell(cell, kind))

    def _value(self, cell: Any, kind: pa.DataType) -> Any:
        return self._texts.value(self._cell(cell, kind), kind)

    def _cell(self, cell: Any, kind: pa.DataType) -> Any:
        """Return a cell in the form that ``Texts`` accepts.

        A cell without a value is null, as is an empty string outside of string columns. In a string column, a number
        with a format that cannot be rendered gets up to 15 digits, which Excel shows in a wide column.
        """
        if cell in (None, ""):
            return cell if pa.types.is_string(kind) else None
        if pa.types.is_binary(kind):
            return _bytes(self._value(cell, pa.string()))
        if pa.types.is_struct(kind) and isinstance(cell, str | int | float) and not _is_json_row(cell, kind):
            return self._row(self._value(cell, pa.string()), kind)
        if isinstance(cell, dt.timedelta):  # A time that is displayed as [h]:mm.
            cell = (dt.datetime.min + cell).time() if cell < dt.timedelta(days=1) else str(cell)
        if isinstance(cell, float) and (pa.types.is_string(kind) or pa.types.is_decimal(kind)):
            return str(int(cell)) if cell.is_integer() else f"{Decimal(f'{cell:.{_DIGITS}g}'):f}"
        if isinstance(cell, bool) and pa.types.is_string(kind):
            return str(cell).lower()
        if isinstance(cell, dt.date | dt.time):
            return self._moment(cell, kind)
        return cell

    def _row(self, text: str, kind: pa.DataType) -> dict[str, Any]:
        """Parse a nested row in SeaTunnel's format; raise ``ValueError`` for surplus and invalid fields."""
        parts = list(self._parts(text, kind))
        if len(parts) > kind.num_fields:
            raise ValueError(f"{text[:80]!r} has {len(parts)} fields, expected {kind.num_fields} of {type_name(kind)}")
        return {part.name: self._part(value or None, part.type) for part, value in zip(kind, parts, strict=False)}

    def _part(self, text: str | None, kind: pa.DataType) -> Any:
        """Return a field of a nested row; JSON becomes Python values, which the row's converter checks."""
        value = self._value(text, kind)
        return json.loads(text) if text and pa.types.is_nested(kind) and text[0] in "{[" else value

    def _parts(self, text: str, kind: pa.DataType) -> Iterator[str]:
        """Yield the fields of a nested row in delimited text. A map, array or row as JSON may contain delimiters."""
        at, number = 0, 0
        while True:
            end = at
            if number < kind.num_fields and pa.types.is_nested(kind.field(number).type):
                end = _json_end(text, at)
            found = self._between.search(text, end)
            if found is None or found.start() == found.end():
                yield text[at:]
                return
            yield text[at : found.start()]
            at, number = found.end(), number + 1

    def _moment(self, cell: dt.date | dt.time, kind: pa.DataType) -> Any:
        if isinstance(cell, dt.datetime):
            if pa.types.is_date(kind) and cell.time() == dt.time():
                return cell.date()
            if pa.types.is_string(kind):  # A day is a timestamp at midnight.
                return cell.isoformat(" ") if cell.time() != dt.time() else cell.date().isoformat()
            return cell
        if isinstance(cell, dt.date) and pa.types.is_timestamp(kind):
            return dt.datetime.combine(cell, dt.time())
        return cell.isoformat() if pa.types.is_string(kind) else cell


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))


def _is_json_row(cell: Any, kind: pa.DataType) -> bool:
    """Return True if a cell contains a row as JSON instead of delimited fields."""
    text = str(cell).strip()
    if not text.startswith("{"):
        return False
    try:
        found = json.loads(text)
    except ValueError:
        return _json_end(text, 0) == 0  # More fields follow if the JSON ends before the cell.
    return not found or any(kind.get_field_index(name) >= 0 for name in found)


def _json_end(text: str, at: int) -> int:
    """Return the end of the JSON value at a position, or the position if there is none."""
    try:
        return json.JSONDecoder().raw_decode(text, at)[1] if text[at : at + 1] in ("{", "[") else at
    except ValueError:
        return at


def _bytes(text: str) -> bytes:
    """Return the bytes listed in a string such as ``[72, -1]``, which sinks write; encode any other string."""
    if _BYTES.fullmatch(text.strip()):
        numbers = [int(number) for number in re.findall(r"-?\d+", text)]
        if all(-128 <= number < 256 for number in numbers):
            return bytes(number % 256 for number in numbers)
    return text.encode()


class ExcelFileWriter(FileWriter):
    """Writer for one sheet with the column names in its first row. It holds one batch of rows in memory."""

    suffix: ClassVar[str] = ".xlsx"
    is_text: ClassVar[bool] = False
    codecs: ClassVar[tuple[str, ...]] = ()
    most_rows: ClassVar[int] = MOST_ROWS - 1

    def __init__(self, style: FileStyle, stream: pa.NativeFile, columns: pa.Schema) -> None:
        super().__init__(style, stream, columns)
        self._sheet = xlsx.SheetFile(self.stream, style.sheet_name)
        self._sheet.add([_text(name) for name in columns.names])

    @classmethod
    def check(cls, style: FileStyle) -> None:
        name = style.sheet_name
        if not 1 <= len(name) <= 31 or set(name) & set("[]:*?/\\") or name.startswith("'") or name.endswith("'"):
            raise UsageError(
                f"option 'sheet_name': {name!r} is not allowed: a sheet name must have 1 to 31 characters, and must "
                "not contain any of []:*?/\\"
            )

    @classmethod
    def refuse(cls, columns: pa.Schema) -> None:
        if len(columns) > MOST_COLUMNS:
            raise SinkError(f"a sheet has at most {MOST_COLUMNS} columns, found {len(columns)}")

    @classmethod
    def prepared(cls, style: FileStyle, rows: pa.RecordBatch) -> pa.RecordBatch:
        columns = [_column(*each) for each in zip(rows.schema, rows.columns, strict=True)]
        return pa.RecordBatch.from_arrays(_visible(rows.schema, columns), names=rows.schema.names)

    def write(self, rows: pa.RecordBatch) -> None:
        for cells in zip(*(column.to_pylist() for column in rows.columns), strict=True):
            self._sheet.add(list(cells))

    def close(self) -> None:
        self._sheet.close()
        super().close()


def _visible(columns: pa.Schema, cells: list[pa.Array]) -> list[pa.Array]:
    """Add an empty string to each row that would have no cells, because readers skip empty rows."""
    bare = reduce(pc.and_, (pc.equal(each, "") for each in cells))
    if not pc.any(bare).as_py():
        return cells
    at = next((at for at, column in enumerate(columns) if not pa.types.is_string(column.type)), None)
    if at is None:
        name = columns.names[0]
        said = "a row of nulls has no cells in a sheet, so readers would skip it; write csv or json"
        raise RowError(f"column {name!r}: {said}", column=name)
    return [*cells[:at], pc.if_else(bare, xlsx.text(""), cells[at]), *cells[at + 1 :]]


def _column(column: pa.Field, values: pa.Array) -> pa.Array:
    cell = _cells(column.type)
    try:
        return pa.array(["" if value is None else cell(value) for value in values.to_pylist()], pa.string())
    except ValueError as error:
        raise RowError(f"column {column.name!r}: {error}", column=column.name) from None


def _cells(kind: pa.DataType) -> Callable[[Any], str]:
    if pa.types.is_nested(kind):
        return lambda value: _text(json_text(value, kind))
    for matches, cell in (
        (pa.types.is_boolean, xlsx.boolean),
        (pa.types.is_integer, _number),
        (pa.types.is_float32, lambda value: _number(shortest(value))),
        (pa.types.is_floating, _number),
        (pa.types.is_decimal, _decimal),
        (pa.types.is_date, _date),
        (pa.types.is_timestamp, _timestamp),
        (pa.types.is_time, _time),
        (pa.types.is_binary, lambda value: _text(str([byte - 256 * (byte > 127) for byte in value]))),
    ):
        if matches(kind):
            return cell
    return _text


def _text(value: str) -> str:
    characters = len(value.encode("utf-16-le")) // 2
    if characters > MOST_CHARACTERS:
        raise ValueError(f"{value[:60]!r}… has {characters} characters, but a cell can have at most {MOST_CHARACTERS}")
    return xlsx.text(value)


def _number(value: float) -> str:
    if math.isfinite(value) and (isinstance(value, float) or abs(value) <= _EXACT):
        return xlsx.number(value)
    return _text(str(value))


def _decimal(value: Decimal) -> str:
    few = len(f"{value:f}".replace(".", "").strip("-0")) <= _DIGITS  # Without arithmetic, which would round.
    return xlsx.number(float(value)) if few else _text(f"{value:f}")


def _date(value: dt.date) -> str:
    if value < _FIRST_DAY:
        return _text(value.isoformat())
    return xlsx.moment(dt.datetime.combine(value, dt.time()), xlsx.DATE)


def _timestamp(value: dt.datetime) -> str:
    if value.tzinfo or value.microsecond % 1000 or getattr(value, "nanosecond", 0) or value.date() < _FIRST_DAY:
        return _text(value.isoformat(" "))
    return xlsx.moment(value, xlsx.TIMESTAMP_MS if value.microsecond else xlsx.TIMESTAMP)


def _time(value: dt.time) -> str:
    if value.microsecond % 1000:
        return _text(value.isoformat())
    return xlsx.clock(value, xlsx.TIME_MS if value.microsecond else xlsx.TIME)
