"""Conversion of a column's values to JSON strings with Arrow's kernels.

The results are identical to those of ``value_text.json_text``.

``json_text`` is used for values that Arrow formats differently, and for types without a kernel.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from json.encoder import encode_basestring
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from seatunnel_core.errors import RowError
from seatunnel_core.rows.value_text import json_text

_ESCAPED = r'["\\\x00-\x1f]'
_LEAST, _MOST = 1e-4, 1e10
"""Range in which Python and Arrow format floating-point numbers other than integers identically and without an
exponent."""

_MOST_WHOLE = {32: 2.0**24, 64: 1e15}
"""Limit below which integers keep all digits, keyed by the size of the floating-point type in bits."""


def _array(texts: Iterable[str]) -> pa.Array:
    """Create an Arrow array without ``pa.array``, which imports pandas if it is installed; that takes a second."""
    written = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, written)], dtype=np.int32)
    return pa.StringArray.from_buffers(len(written), pa.py_buffer(ends), pa.py_buffer(b"".join(written)))


_NULL, _QUOTE, _NOTHING, _ZONE, _COLON, _POINT_ZERO = _array(["null", '"', "", '+00:00"', ":", ".0"])
_FALSE = pa.Array.from_buffers(pa.bool_(), 1, [None, pa.py_buffer(b"\0")])[0]


def json_lines(rows: pa.RecordBatch, line_end: str) -> pa.Array:
    """Return each row as a JSON object. A decimal is a number with all its digits.

    Raises:
        RowError: A value cannot be represented in JSON. The message contains the column.
    """
    if not rows.num_columns:
        return _array(["{}" + line_end] * rows.num_rows)
    line = _Object()
    for number, (column, array) in enumerate(zip(rows.schema, rows.columns, strict=True)):
        line.write(_name(column, number))
        try:
            line.add_value(array)
        except ValueError as error:
            raise RowError(f"column {column.name!r}: {error}", column=column.name) from None
    line.write("}" + line_end)
    return line.texts()


class _Object:
    """Builds one object per row from columns of strings and from constant strings between them.

    Nested objects are not built separately, and quotes are part of the constant strings, so that each character is
    copied only once.
    """

    def __init__(self) -> None:
        self._between = [""]
        self._columns: list[pa.Array] = []

    def write(self, text: str) -> None:
        """Add a constant string."""
        self._between[-1] += text

    def add(self, texts: pa.Array) -> None:
        """Add an array with one string per row; it must not contain nulls."""
        self._columns.append(texts)
        self._between.append("")

    def add_fields(self, array: pa.Array) -> None:
        """Add an array of structs as objects; it must not contain nulls."""
        for number, column in enumerate(array.type):
            self.write(_name(column, number))
            self.add_value(array.field(number))
        self.write("}")

    def add_value(self, array: pa.Array) -> None:
        """Add an array as JSON."""
        if array.null_count or not len(array):
            self.add(_texts(array))
        elif pa.types.is_struct(array.type) and array.type.num_fields:
            self.add_fields(array)
        elif (bare := _without_quotes(array)) is not None:
            self.write('"')
            self.add(bare)
            self.write(_closing(array.type))
        else:
            self.add(_texts(array))

    def texts(self) -> pa.Array:
        """Return the strings of all rows."""
        columns, rows = len(self._columns), len(self._columns[0])
        order = np.empty((rows, 2 * columns + 1), np.int32)
        order[:, ::2] = np.arange(columns + 1)
        order[:, 1::2] = columns + 1 + np.arange(columns) * rows + np.arange(rows)[:, None]
        begins = np.arange(rows + 1) * (2 * columns + 1)
        return _in_order([_array(self._between), *self._columns], order.ravel(), begins)


def _name(column: pa.Field, number: int) -> str:
    """Return the JSON text that precedes the value of a column; ``number`` is the position of the column."""
    return f"{',' if number else '{'}{json.dumps(column.name, ensure_ascii=False)}:"


def _in_order(parts: Sequence[pa.Array], order: NDArray[Any], begins: NDArray[Any]) -> pa.Array:
    """Return strings joined from parts. This is ten times as fast as Arrow's ``binary_join_element_wise``.

    ``order`` contains the numbers of the parts, counted over all arrays, in output order. ``begins`` contains the index
    in ``order`` at which each string begins, followed by the end of the last string.
    """
    taken = pa.concat_arrays(parts).take(pa.Array.from_buffers(pa.int32(), len(order), [None, pa.py_buffer(order)]))
    _, offsets, data = taken.buffers()
    ends = np.frombuffer(offsets, np.int32)[begins]
    return pa.StringArray.from_buffers(len(begins) - 1, pa.py_buffer(ends), data)


def _texts(array: pa.Array) -> pa.Array:
    """Return a string for each value, ``null`` for nulls."""
    kind = array.type
    made = next((make for matches, make in _MAKERS if matches(kind)), _one_by_one)
    return made(array).fill_null(_NULL)


def _one_by_one(array: pa.Array) -> pa.Array:
    return _array(json_text(value, array.type) for value in array.to_pylist())


def _cast(array: pa.Array) -> pa.Array:
    return array.cast(pa.string())


def _decimal(array: pa.Array) -> pa.Array:
    texts = array.cast(pa.string())
    with_exponent = pc.match_substring(texts, "E").fill_null(_FALSE)  # Arrow writes 1E-9
    return _except(texts, array, _bits(with_exponent), _one_by_one)


def _in_quotes(texts: pa.Array, end: pa.Scalar = _QUOTE) -> pa.Array:
    return pc.binary_join_element_wise(_QUOTE, texts, end, _NOTHING)


def _floating(array: pa.Array) -> pa.Array:
    values = _numbers(array, f"f{array.type.bit_width // 8}", len(array))
    size = np.abs(values)
    whole = (values == np.trunc(values)) & (size < _MOST_WHOLE[array.type.bit_width]) & _bits(array.is_valid())
    whole &= (values != 0) | ~np.signbit(values)
    if whole.all():
        return _point_zero(values)
    texts = array.cast(pa.string())
    if whole.any():  # Arrow formats 1.0 as 1, and also 1e+14
        texts = pc.replace_with_mask(texts, _mask(whole), _point_zero(values[whole]))
    return _except(
        texts, array, ~(whole | ((size >= _LEAST) & (size < _MOST) & (values != np.trunc(values)))), _one_by_one
    )


def _point_zero(whole: NDArray[Any]) -> pa.Array:
    return pc.binary_join_element_wise(_integers(whole.astype(np.int64)).cast(pa.string()), _POINT_ZERO, _NOTHING)


def _numbers(array: pa.Array, kind: str, count: int) -> NDArray[Any]:
    """Return the values in the buffer of an array.

    The buffer may contain additional values, or be empty if all are null.
    """
    if not count:
        return np.empty(0, kind)
    return np.frombuffer(array.buffers()[1], kind, count, array.offset * np.dtype(kind).itemsize)


def _except(texts: pa.Array, array: pa.Array, others: NDArray[Any], make: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Return the strings, replacing those of the selected values with the results of ``make``."""
    if array.null_count:
        others &= _bits(array.is_valid())
    if not others.any():
        return texts
    mask = _mask(others)
    return pc.replace_with_mask(texts, mask, make(array.filter(mask)))


def _mask(bits: NDArray[Any]) -> pa.Array:
    packed = pa.py_buffer(np.packbits(bits, bitorder="little"))
    return pa.Array.from_buffers(pa.bool_(), len(bits), [None, packed])


def _bits(array: pa.Array) -> NDArray[Any]:
    """Return booleans as a NumPy array; they must not contain nulls."""
    return np.frombuffer(array.cast(pa.uint8()).buffers()[1], np.uint8)[: len(array)].astype(bool)


def _string(array: pa.Array) -> pa.Array:
    quoted = _in_quotes(array)
    if not _may_need_escapes(array):
        return quoted
    others = pc.match_substring_regex(array, _ESCAPED).fill_null(_FALSE)
    return _except(quoted, array, _bits(others), _escaped)


def _escaped(array: pa.Array) -> pa.Array:
    return _array(map(encode_basestring, array.to_pylist()))


def _may_need_escapes(array: pa.Array) -> bool:
    data = array.buffers()[2]
    if data is None or not len(array):
        return False
    ends = _numbers(array, "i4", len(array) + 1)
    signs = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]]
    return bool((signs < 0x20).any() or (signs == 0x22).any() or (signs == 0x5C).any())


def _without_quotes(array: pa.Array) -> pa.Array | None:
    """Return the characters between the quotes; ``None`` for values without quotes or with escapes."""
    if pa.types.is_string(array.type):
        return None if _may_need_escapes(array) else array
    make = next((make for matches, make in _QUOTED if matches(array.type)), None)
    return None if make is None else make(array)


def _closing(kind: pa.DataType) -> str:
    return '+00:00"' if pa.types.is_timestamp(kind) and kind.tz else '"'


def _quoted(array: pa.Array) -> pa.Array:
    return _in_quotes(_without_quotes(array), _ZONE if _closing(array.type) != '"' else _QUOTE)


def _date(array: pa.Array) -> pa.Array:
    _must_be_of_python(array)
    return array.cast(pa.string())


def _time(array: pa.Array) -> pa.Array:
    return _without_zeros(array, pa.time32("s"))


def _timestamp(array: pa.Array) -> pa.Array:
    local = array.cast(pa.timestamp("us"))
    _must_be_of_python(local)
    return pc.binary_replace_slice(_without_zeros(local, pa.timestamp("s")), 10, 11, "T")


def _must_be_of_python(array: pa.Array) -> None:
    """Raise OverflowError for a year before 1 or after 9999, like Python."""
    pc.min_max(array).as_py()


def _without_zeros(array: pa.Array, seconds: pa.DataType) -> pa.Array:
    """Remove zero fractions of a second from strings."""
    try:
        return array.cast(seconds).cast(pa.string())
    except pa.ArrowInvalid:
        return pc.replace_substring_regex(array.cast(pa.string()), r"\.000000$", "")


def _row(array: pa.Array) -> pa.Array:
    if not array.type.num_fields or not len(array):
        return _one_by_one(array)
    rows = _Object()
    rows.add_fields(array)
    texts = rows.texts()
    return pc.if_else(array.is_valid(), texts, _NULL) if array.null_count else texts


def _list(array: pa.Array) -> pa.Array:
    return _joined(array, "[]", [_texts(_held(array, array.values))])


def _map(array: pa.Array) -> pa.Array:
    keys = _held(array, array.keys)
    if not (pa.types.is_string(keys.type) or pa.types.is_integer(keys.type)) or _repeats(array, keys):
        return _one_by_one(array)
    names = _string(keys) if pa.types.is_string(keys.type) else _in_quotes(keys.cast(pa.string()))
    names = pc.binary_join_element_wise(names, _COLON, _NOTHING)
    return _joined(array, "{}", [names, _texts(_held(array, array.items))])


def _held(array: pa.Array, values: pa.Array) -> pa.Array:
    """Return the elements of an array of lists. The array may be a slice of a larger array."""
    begin = array.offsets[0].as_py()
    return values.slice(begin, array.offsets[-1].as_py() - begin)


def _offsets(array: pa.Array) -> NDArray[Any]:
    """Return the offset of each list in the array of elements, followed by the end of the last list."""
    found = _numbers(array, "i4", len(array) + 1)
    return found.astype(np.int64) - int(found[0])


def _joined(array: pa.Array, brackets: str, elements: Sequence[pa.Array]) -> pa.Array:
    """Return lists as strings with commas between the elements. Each element consists of one or more parts."""
    begins = _offsets(array)
    lengths = np.diff(begins)
    missing = ~_bits(array.is_valid())
    if lengths[missing].any():
        return _one_by_one(array)
    signs = _array([",", brackets[0], brackets[1], brackets, "null"])
    comma, opened, closed, empty, null = range(5)
    width, count, lists = len(elements) + 1, len(elements[0]), len(array)
    at = np.arange(count) * width + np.repeat(np.arange(lists), lengths)
    order = np.empty(count * width + lists, np.int32)
    order[at] = comma
    order[at[begins[:-1][lengths > 0]]] = opened
    for number in range(len(elements)):
        order[at + number + 1] = len(signs) + number * count + np.arange(count)
    begins = begins * width + np.arange(lists + 1)
    order[begins[1:] - 1] = np.where(missing, null, np.where(lengths == 0, empty, closed))
    return _in_order([signs, *elements], order, begins)


def _repeats(array: pa.Array, keys: pa.Array) -> bool:
    """Return True if a map has a duplicate key, for which Python would keep only the last value."""
    lengths = np.diff(_offsets(array))
    if not len(lengths) or lengths.max() < 2:
        return False
    maps = _integers(np.repeat(np.arange(len(lengths)), lengths))
    entries = pa.Table.from_arrays([maps, keys], names=["map", "key"])
    return bool(entries.group_by(["map", "key"], use_threads=False).aggregate([]).num_rows < len(keys))


def _integers(values: NDArray[Any]) -> pa.Array:
    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(values)])


def _is_utc(kind: pa.DataType) -> bool:
    return pa.types.is_timestamp(kind) and kind.unit != "ns" and kind.tz in (None, "UTC")


_Maker = tuple[Callable[[pa.DataType], bool], Callable[[pa.Array], pa.Array]]

_QUOTED: tuple[_Maker, ...] = (
    (pa.types.is_date32, _date),
    (lambda kind: kind == pa.time64("us"), _time),
    (_is_utc, _timestamp),
)
"""Types with values that are quoted and need no escapes."""

_MAKERS: tuple[_Maker, ...] = (
    (pa.types.is_string, _string),
    (pa.types.is_integer, _cast),
    (pa.types.is_boolean, _cast),
    (pa.types.is_decimal, _decimal),
    (pa.types.is_float64, _floating),
    (pa.types.is_float32, _floating),
    *((matches, _quoted) for matches, _ in _QUOTED),
    (pa.types.is_struct, _row),
    (pa.types.is_list, _list),
    (pa.types.is_map, _map),
)
