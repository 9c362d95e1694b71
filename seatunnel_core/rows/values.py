"""Conversion of JSON and configuration values to values that Arrow accepts for a type.

The rules are those of SeaTunnel's documentation. Dates and times are strings in ISO format or other formats such as
2024/5/20 12:34:56, ``bytes`` are base64, a row is a list of its fields in order or an object by name, and a map is an
object with string keys. A vector is a list of its numbers, and a binary vector is a list of its bytes or their base64.
"""

import base64
import binascii
import datetime as dt
import decimal
import json
import math
import re
import struct
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from seatunnel_core.rows.json_document import Number
from seatunnel_core.rows.repeated_keys import RepeatedKeyError, object_of_pairs, require_once
from seatunnel_core.rows.types import type_name, vector_name
from seatunnel_core.rows.written_decimal import NegativeZero, WrittenDecimal, decoders

LARGEST_FLOAT = (2 - 2**-23) * 2.0**127
"""Largest 32-bit number, Java's ``Float.MAX_VALUE``."""

_decoder_of = decoders(parse_float=WrittenDecimal, object_pairs_hook=object_of_pairs)
_INFINITE_FLOAT = LARGEST_FLOAT + 2.0**103
"""Smallest number that rounds to infinity as a 32-bit float."""

Converter = Callable[[Any], Any]


def plain(value: Any, kind: pa.DataType) -> Any:
    """Convert a value for an Arrow type. ``None`` stays ``None``. See also ``converter``.

    Raises:
        ValueError: The value does not match. The message contains the value and the expected type.
    """
    return None if value is None else converter(kind)(value)


def converter(kind: pa.DataType) -> Converter:
    """Return a function that converts values to a type like ``plain``."""
    convert = _unchecked(kind)

    def checked(value: Any) -> Any:
        if value is None:
            return None
        try:
            return convert(value)
        except (ValueError, TypeError, ArithmeticError, binascii.Error) as error:
            if isinstance(error, (_MismatchError, RepeatedKeyError)):
                raise
            raise _MismatchError(f"{_shown(value)} is not of type {type_name(kind)}") from None

    return checked


def row_converter(
    columns: pa.Schema, converters: Callable[[pa.DataType], Converter] = converter
) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return a function that converts a row. Missing values become null.

    The function raises a ValueError that names the column if a value cannot be converted.
    """
    read = [(column.name, column.nullable, converters(column.type)) for column in columns]

    def convert_row(values: Mapping[str, Any]) -> dict[str, Any]:
        require_once(values, columns.names)
        row = {}
        for name, nullable, convert in read:
            try:
                row[name] = convert(values.get(name))
            except ValueError as error:
                raise ValueError(f"column {name!r}: {error}") from None
            if row[name] is None and not nullable:
                raise ValueError(f"column {name!r}: the value is null, but the schema has nullable = false")
        return row

    return convert_row


class _MismatchError(ValueError):
    """Conversion error with a message that can be shown without additions."""


def _shown(value: Any) -> str:
    text = str(value) if isinstance(value, decimal.Decimal) else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _unchecked(kind: pa.DataType) -> Converter:
    for matches, make in _NESTED:
        if matches(kind):
            return make(kind)
    for matches, convert in _SIMPLE:
        if matches(kind):
            return lambda value: convert(value, kind)
    return _null if pa.types.is_null(kind) else _unknown(kind)


def number_text(text: str) -> str:
    """Return a number without whitespace. Raise ValueError for forms that only Python accepts, such as ``1_000``."""
    text = text.strip()
    if "_" in text or not text.isascii():
        raise ValueError("it is not a number")
    return text


def _null(_: Any) -> None:
    raise ValueError


def _unknown(kind: pa.DataType) -> Converter:
    def refuse(_: Any) -> None:
        raise _MismatchError(f"values of type {type_name(kind)} cannot be written as text")

    return refuse


def _text(value: Any, _: pa.DataType) -> str:
    if isinstance(value, str):
        if not value.isascii():
            value.encode()  # raises UnicodeEncodeError at a lone surrogate
        return value
    if isinstance(value, (Mapping, list, tuple, bool)):
        return _document(value)
    if isinstance(value, float) and not math.isfinite(value) and not isinstance(value, Number):
        return json.dumps(value)  # NaN as in JSON, not nan
    return str(value)


def _document(value: Any) -> str:
    """Format a parsed JSON value as JSON. Numbers with a decimal point keep their notation."""
    if isinstance(value, Mapping):
        require_once(value)
        return "{" + ",".join(f"{_document(str(key))}:{_document(part)}" for key, part in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_document, value)) + "]"
    return (
        str(value)
        if isinstance(value, decimal.Decimal | Number | NegativeZero)
        else json.dumps(value, ensure_ascii=False)
    )


def _boolean(value: Any, _: pa.DataType) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    raise ValueError


def _integer(value: Any, kind: pa.DataType) -> int:
    if isinstance(value, bool):
        raise ValueError
    number = int(number_text(value)) if isinstance(value, str) else int(value)
    if not isinstance(value, str) and number != value:
        raise ValueError
    least = 0 if pa.types.is_unsigned_integer(kind) else -(2 ** (kind.bit_width - 1))
    if not least <= number < least + 2**kind.bit_width:
        raise ValueError
    return number


def _floating(value: Any, kind: pa.DataType) -> float:
    if isinstance(value, bool):
        raise ValueError
    number = float(number_text(value) if isinstance(value, str) else value)
    too_large = math.isinf(number) or (pa.types.is_float32(kind) and abs(number) >= _INFINITE_FLOAT)
    if too_large and any(sign.isdigit() for sign in str(value)):  # except written infinities
        raise ValueError
    return number


def _decimal(value: Any, kind: pa.DataType) -> decimal.Decimal:
    if isinstance(value, bool):
        raise ValueError
    number = decimal.Decimal(number_text(str(value)))
    if not number.is_finite():
        raise ValueError
    with decimal.localcontext(prec=80) as context:
        context.traps[decimal.Inexact] = True
        exact = number.quantize(decimal.Decimal(1).scaleb(-kind.scale))
    if len(exact.as_tuple().digits) > kind.precision:
        raise ValueError
    return exact


def _bytes(value: Any, _: pa.DataType) -> bytes:
    return value if isinstance(value, bytes) else base64.b64decode(value, validate=True)


def _date(value: Any, _: pa.DataType) -> dt.date:
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value
    try:
        return dt.date.fromisoformat(value)
    except ValueError:
        return dt.date.fromisoformat(_as_iso(value))


def _time(value: Any, _: pa.DataType) -> dt.time:
    found = value if isinstance(value, dt.time) else dt.time.fromisoformat(_to_the_microsecond(value))
    if found.tzinfo is not None:  # a time has no time zone
        raise ValueError
    return found


def _timestamp(value: Any, kind: pa.DataType) -> dt.datetime:
    moment = value if isinstance(value, dt.datetime) else _moment(value)
    if (moment.tzinfo is None) != (kind.tz is None):
        raise ValueError
    return moment.astimezone(dt.UTC) if kind.tz else moment


def _moment(text: str) -> dt.datetime:
    text = _to_the_microsecond(text)
    try:
        return dt.datetime.fromisoformat(text)
    except ValueError:
        return dt.datetime.fromisoformat(_to_the_microsecond(_as_iso(text)))


_BELOW_A_MICROSECOND = re.compile(r"[.,]\d{6}\d*[1-9]", re.ASCII)


def _to_the_microsecond(text: str) -> str:
    """Return the string. Raise ValueError if it has digits below a microsecond, which Python would truncate."""
    if _BELOW_A_MICROSECOND.search(text):
        raise ValueError
    return text


_WRITTEN = (
    re.compile(r"(\d{4})([-/.])(\d\d?)\2(\d\d?)(?: (\d\d?):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?", re.ASCII),
    re.compile(r"(\d{4})()(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)()", re.ASCII),
    re.compile(r"(\d{4})(年)(\d\d?)月(\d\d?)日(?: (\d\d?)时(\d\d)分(\d\d)秒())?", re.ASCII),
)
"""Patterns for other formats of dates and timestamps that SeaTunnel accepts, from the year to fractions of a second."""


def _as_iso(text: str) -> str:
    """Convert a date or timestamp in one of the other accepted formats to ISO 8601.

    Raise ValueError for other strings.
    """
    found = next((found for form in _WRITTEN if (found := form.fullmatch(text))), None)
    if found is None:
        raise ValueError
    year, _, month, day, hour, minute, second, parts = found.groups()
    date = f"{year}-{month:0>2}-{day:0>2}"
    return date if hour is None else f"{date} {hour:0>2}:{minute}:{second or '00'}.{parts or '0'}"


def _list(kind: pa.DataType) -> Converter:
    element = converter(kind.value_type)

    def convert(value: Any) -> list[Any]:
        return [element(each) for each in _elements(value)]

    return convert


def _elements(value: Any) -> list[Any] | tuple[Any, ...]:
    value = _unpacked(value)
    if not isinstance(value, (list, tuple)):
        raise TypeError
    return value


def _vector(kind: pa.DataType) -> Converter:
    name, size, element = vector_name(kind), kind.list_size, converter(kind.value_type)
    if name == "bfloat16_vector":
        element = _upper_half

    def convert(value: Any) -> list[Any]:
        if name == "binary_vector" and isinstance(value, str | bytes) and not str(value).startswith("["):
            value = list(_bytes(value, kind))
        found = _elements(value)
        if len(found) != size or None in found:
            raise ValueError
        return [element(each) for each in found]

    return convert


def _upper_half(value: Any) -> int:
    """Return the upper 16 bits of a float (a bfloat16), truncated as in SeaTunnel."""
    number = _floating(value, pa.float32())
    if math.isfinite(number) and abs(number) > LARGEST_FLOAT:
        raise ValueError
    bits: int = struct.unpack(">I", struct.pack(">f", number))[0]
    return bits >> 16


def _map(kind: pa.DataType) -> Converter:
    to_key, to_item = converter(kind.key_type), converter(kind.item_type)

    def convert(value: Any) -> list[tuple[Any, Any]]:
        value = _unpacked(value)
        if not isinstance(value, Mapping):
            raise TypeError
        require_once(value)
        return [(to_key(key), to_item(item)) for key, item in value.items()]

    return convert


def _struct(kind: pa.DataType) -> Converter:
    parts = [(part.name, converter(part.type)) for part in kind]
    names = [name for name, _ in parts]

    def convert(value: Any) -> dict[str, Any]:
        value = _unpacked(value)
        if isinstance(value, Mapping):
            require_once(value, names)
            return {name: to_part(value.get(name)) for name, to_part in parts}
        if len(value) != len(parts) or isinstance(value, str):
            raise ValueError
        return {name: to_part(each) for (name, to_part), each in zip(parts, value, strict=True)}

    return convert


def _unpacked(value: Any) -> Any:
    """Parse a nested value that may be given as a string: ``"{ 12:01:26 = v0 }"`` or JSON."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    try:
        return _decoder_of(text).decode(text)
    except json.JSONDecodeError:
        if not (text.startswith("{") and text.endswith("}")):
            raise
        pairs = (pair.split("=", 1) for pair in text[1:-1].split(",") if pair.strip())
        return {key.strip().strip('"'): found.strip().strip('"') for key, found in pairs}


_SIMPLE: tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any, pa.DataType], Any]], ...] = (
    (pa.types.is_string, _text),
    (pa.types.is_large_string, _text),
    (pa.types.is_boolean, _boolean),
    (pa.types.is_integer, _integer),
    (pa.types.is_floating, _floating),
    (pa.types.is_decimal, _decimal),
    (pa.types.is_binary, _bytes),
    (pa.types.is_date, _date),
    (pa.types.is_time, _time),
    (pa.types.is_timestamp, _timestamp),
)
_NESTED: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], Converter]], ...] = (
    (pa.types.is_map, _map),
    (pa.types.is_list, _list),
    (pa.types.is_fixed_size_list, _vector),
    (pa.types.is_struct, _struct),
)
