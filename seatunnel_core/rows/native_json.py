"""Reader of JSON lines that uses Arrow's parser where it agrees with ``json`` and ``rows.values``.

Arrow's parser is ten times as fast, but differs: it reads two objects on one line as two rows, and an object that spans
two lines as one row; invalid UTF-8 is accepted, ``Inf`` is a number, ``-0`` is -0.0, a decimal may overflow, ``Z``
after a local time is ignored, and a line ``null`` ends the process. Input that it may treat differently is detected
before or after parsing, and read by the reference reader (``json`` and ``rows.values``), which also reports
bad rows.
"""

import decimal
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as arrow_json

from seatunnel_core.rows.repeated_keys import object_of_pairs, require_once
from seatunnel_core.rows.values import Converter, plain
from seatunnel_core.rows.written_decimal import WrittenDecimal, decoders

_BOM = b"\xef\xbb\xbf"
_INF = re.compile(rb"Inf(?=[\s,}\]])")
_COLUMN = re.compile(r"JSON parse error: Column\(/([^/]*).*\) (?:changed|was specified)")
_AS_THEY_ARE = {
    pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32(), pa.float64(), pa.string()
}  # fmt: skip
_AS_TEXT = (pa.types.is_date32, pa.types.is_time64, pa.types.is_timestamp, pa.types.is_binary)
_DIGITS_OF_128, _DIGITS_OF_256 = 38, 76

_decoder_of = decoders(parse_float=WrittenDecimal, object_pairs_hook=object_of_pairs)
_GLANCING = json.JSONDecoder(parse_float=decimal.Decimal)

Converters = Callable[[pa.DataType], Converter]


def parsed(text: bytes) -> Any:
    """Parse a JSON document without losing digits, the notation of decimals, or duplicate keys (``RepeatedKeys``).

    Raises:
        ValueError: The document is not JSON. The message contains the position.
    """
    return _decoded(text, _decoder_of)


def glanced(text: bytes) -> Any:
    """Parse a JSON document faster than ``parsed``, but keep only the last value of a duplicate key.

    Raise ValueError like ``parsed``.
    """
    return _decoded(text, lambda _: _GLANCING)


def _decoded(text: bytes, decoder_of: Callable[[str], json.JSONDecoder]) -> Any:
    try:
        decoded = text.decode(json.detect_encoding(text))
        return decoder_of(decoded).decode(decoded)
    except RecursionError:
        raise ValueError("nested too deeply") from None


class NativeJson:
    """Reads objects into columns. It remembers the columns that Arrow's parser cannot read in this data."""

    def __init__(self, columns: pa.Schema, converters: Converters, *, complete: bool = False) -> None:
        """Create a reader for some columns.

        Args:
            columns: Names and types of the columns.
            converters: Returns, for a column's type, the converter that the reference reader applies to values of
                ``json``. A converter may raise ValueError.
            complete: True if rows that have a field without a column must be read by the reference reader.
        """
        self._columns = columns
        self._converters = converters
        self._complete = complete
        self._native = {column.name for column in columns if _parsed_type(column.type) is not None}
        """Columns read by Arrow's parser. The others are converted value by value."""

    def rows(self, text: bytes) -> pa.RecordBatch | None:
        """Return the rows of complete lines; ``None`` if they must be parsed by the reference reader."""
        lines = _lines_of_objects(text)
        return self._rows(lines, self._native) if lines is not None else None

    def _rows(self, lines: bytes, native: set[str]) -> pa.RecordBatch | None:
        """Return the rows. Arrow parses the columns in ``native``, except those with values of another kind."""
        if not native or (self._complete and len(native) < len(self._columns)):
            return None
        try:
            found = self._batch(lines, native)
        except (pa.ArrowException, ValueError, ArithmeticError, RecursionError) as error:
            named = _COLUMN.match(str(error))
            return self._rows(lines, native - {named[1]}) if named and named[1] in native else None
        self._native = native
        return found

    def _batch(self, lines: bytes, native: set[str]) -> pa.RecordBatch | None:
        decoded = lines.decode()
        asked = [(column.name, _parsed_type(column.type)) for column in self._columns if column.name in native]
        table = _table(lines, pa.schema(asked), "error" if self._complete else "ignore")
        rows = lines.count(b"\n") + 1
        if table.num_rows != rows:
            return None
        documents = [] if len(native) == len(self._columns) else _documents(decoded)
        for document in documents:
            require_once(document, self._columns.names)
        arrays = []
        for column in self._columns:
            if column.name in native:
                array = self._built(table.column(column.name), column.type)
            else:
                convert, name = self._converters(column.type), column.name
                array = pa.array([convert(document.get(name)) for document in documents], column.type)
            if array.null_count and not column.nullable:
                return None
            arrays.append(array)
        return pa.RecordBatch.from_arrays(arrays, schema=self._columns)

    def _built(self, found: pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
        array = found.chunk(0) if found.num_chunks == 1 else found.combine_chunks()
        try:
            return _built(array, kind)
        except (pa.ArrowException, ValueError, OverflowError):
            if not pa.types.is_string(array.type):
                raise
            # A date or time in another form, for which there may be an option.
            return pa.array(map(self._converters(kind), array.to_pylist()), kind)


def _lines_of_objects(text: bytes) -> bytes | None:
    """Return the text without its last newline if each line certainly begins and ends with the brace of an object.

    A closing brace followed by an opening one separates two objects, so no object spans two lines. Equal numbers of
    rows and lines mean that no line contains two objects.
    """
    text = text.removeprefix(_BOM)
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n")
    text = text.removesuffix(b"\n")
    if text[:1] != b"{" or text[-1:] != b"}" or b"\r" in text or text.count(b"}\n{") != text.count(b"\n"):
        return None
    if b"-NaN" in text or (b"Inf" in text and _INF.search(text)):
        return None
    return text


def _table(lines: bytes, columns: pa.Schema, unexpected: str) -> pa.Table:
    return arrow_json.read_json(
        pa.BufferReader(lines),
        arrow_json.ReadOptions(use_threads=False, block_size=len(lines) + 1),
        arrow_json.ParseOptions(
            explicit_schema=columns, newlines_in_values=False, unexpected_field_behavior=unexpected
        ),
    )


def _documents(lines: str) -> list[dict[str, Any]]:
    found = []
    scan = _decoder_of(lines).scan_once  # type: ignore[attr-defined]
    for line in lines.split("\n"):
        document, end = scan(line, 0)
        if end != len(line):
            raise ValueError("a line contains more than one object")
        found.append(document)
    return found


# -- requested types ---------------------------------------------------------------------------------------------------


def _parsed_type(kind: pa.DataType) -> pa.DataType | None:
    """Return the type with which Arrow's parser reads the values of a type; ``None`` if it cannot read them."""
    if kind in _AS_THEY_ARE:
        return kind
    if pa.types.is_float32(kind):
        return pa.float64()  # via Python's double: some numbers are rounded differently directly
    if pa.types.is_decimal(kind):
        return _parsed_decimal(kind)
    if any(matches(kind) for matches in _AS_TEXT):
        return pa.string()
    if pa.types.is_struct(kind):
        parts = [(part.name, _parsed_type(part.type)) for part in kind]
        return pa.struct(parts) if all(parsed is not None for _, parsed in parts) else None
    if pa.types.is_list(kind) or (pa.types.is_fixed_size_list(kind) and kind.value_type != pa.uint16()):
        element = _parsed_type(kind.value_type)
        return pa.list_(element) if element is not None else None
    return None


def _parsed_decimal(kind: pa.DataType) -> pa.DataType | None:
    """Return a decimal type for all digits that the parser accepts. The parser does not check scaling for overflow."""
    digits = kind.precision + kind.scale
    if digits > _DIGITS_OF_256:
        return None
    return pa.decimal256(kind.precision, kind.scale) if digits > _DIGITS_OF_128 else kind


# -- conversion of values ----------------------------------------------------------------------------------------------


def _built(found: pa.Array, kind: pa.DataType) -> pa.Array:
    """Convert values from Arrow's parser to the requested type.

    Raises:
        ValueError, OverflowError, pa.ArrowException: A value is invalid, or the reference reader may differ.
    """
    if pa.types.is_floating(kind):
        return _floating(found, kind)
    if pa.types.is_decimal(kind):
        return _decimal(found, kind)
    if pa.types.is_date32(kind) or pa.types.is_timestamp(kind):
        return _moment(found, kind)
    if pa.types.is_time64(kind) or pa.types.is_binary(kind):
        return pa.array([plain(text, kind) for text in found.to_pylist()], kind)
    if pa.types.is_struct(kind):
        parts = [_built(found.field(number), part.type) for number, part in enumerate(kind)]
        return pa.Array.from_buffers(kind, len(found), found.buffers()[:1], found.null_count, children=parts)
    if pa.types.is_list(kind):
        elements = _built(found.values, kind.value_type)
        return pa.Array.from_buffers(kind, len(found), found.buffers()[:2], found.null_count, children=[elements])
    return _vector(found, kind) if pa.types.is_fixed_size_list(kind) else found


def _floating(found: pa.Array, kind: pa.DataType) -> pa.Array:
    values = np.frombuffer(found.buffers()[1], np.float64)
    if (np.signbit(values) & (values == 0)).any():
        raise ValueError("-0 would become 0.0, which differs from -0.0")
    if np.isinf(values).any():
        raise ValueError("infinity, or a number that is too large")
    cast = found.cast(kind)
    if kind != found.type and not pc.is_finite(cast).equals(pc.is_finite(found)):
        raise ValueError("a number is too large for 32 bits")
    return cast


def _decimal(found: pa.Array, kind: pa.DataType) -> pa.Array:
    least, most = pc.min_max(found).as_py().values()
    bound = decimal.Decimal(1).scaleb(kind.precision - kind.scale)
    if least is not None and not -bound < least <= most < bound:
        raise ValueError("a decimal has too many digits")
    return found.cast(kind)


def _moment(found: pa.Array, kind: pa.DataType) -> pa.Array:
    cast = found.cast(kind)
    pc.min_max(cast.cast(pa.timestamp("us"))).as_py()  # raises OverflowError if Python has no such timestamp
    return cast


def _vector(found: pa.Array, kind: pa.DataType) -> pa.Array:
    elements = found.values
    lengths = pc.list_value_length(found)
    if found.null_count or elements.null_count or not pc.all(pc.equal(lengths, kind.list_size)).as_py():
        raise ValueError("the number of values of a vector does not match its type")
    return pa.FixedSizeListArray.from_arrays(_built(elements, kind.value_type), type=kind)
