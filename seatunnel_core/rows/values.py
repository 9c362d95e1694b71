"""Turns plain values, as JSON and configuration files give them, into values that Arrow takes for a type.

Rules as in SeaTunnel's documentation: dates and times are ISO texts, ``bytes`` are base64, a row is a list of its
fields in order or an object by name, a map is an object whose keys are texts. A vector is a list of its numbers, a
binary one a list of its bytes or their base64.
"""

import base64
import binascii
import datetime as dt
import decimal
import json
import math
import struct
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from seatunnel_core.rows.types import type_name, vector_name

LARGEST_FLOAT = (2 - 2**-23) * 2.0**127
"""The largest number of 32 bits, Java's ``Float.MAX_VALUE``."""


def plain(value: Any, kind: pa.DataType) -> Any:
    """``value`` as Arrow takes it for ``kind``; ``None`` stays ``None``.

    Raises:
        ValueError: says what was found and which type was expected.
    """
    if value is None:
        return None
    try:
        return _converter(kind)(value)
    except (ValueError, TypeError, ArithmeticError, binascii.Error) as error:
        if isinstance(error, _MismatchError):
            raise
        raise _MismatchError(f"{_shown(value)} is not of type {type_name(kind)}") from None


class _MismatchError(ValueError):
    """Carries a message that is complete."""


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _converter(kind: pa.DataType) -> Callable[[Any], Any]:
    for matches, convert in _CONVERTERS:
        if matches(kind):
            return lambda value: convert(value, kind)
    raise _MismatchError(f"values of type {type_name(kind)} cannot be written as text")


def _text(value: Any, _: pa.DataType) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (Mapping, list, tuple, bool)):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return str(value)


def _boolean(value: Any, _: pa.DataType) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    raise ValueError


def _integer(value: Any, kind: pa.DataType) -> int:
    if isinstance(value, bool):
        raise ValueError
    number = int(value.strip()) if isinstance(value, str) else int(value)
    if not isinstance(value, str) and number != value:
        raise ValueError
    least = 0 if pa.types.is_unsigned_integer(kind) else -(2 ** (kind.bit_width - 1))
    if not least <= number < least + 2**kind.bit_width:
        raise ValueError
    return number


def _floating(value: Any, _: pa.DataType) -> float:
    if isinstance(value, bool):
        raise ValueError
    return float(value)


def _decimal(value: Any, kind: pa.DataType) -> decimal.Decimal:
    if isinstance(value, bool):
        raise ValueError
    number = decimal.Decimal(str(value).strip())
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
    return dt.date.fromisoformat(value)


def _time(value: Any, _: pa.DataType) -> dt.time:
    return value if isinstance(value, dt.time) else dt.time.fromisoformat(value)


def _timestamp(value: Any, kind: pa.DataType) -> dt.datetime:
    moment = value if isinstance(value, dt.datetime) else dt.datetime.fromisoformat(value)
    if (moment.tzinfo is None) != (kind.tz is None):
        raise ValueError
    return moment.astimezone(dt.UTC) if kind.tz else moment


def _list(value: Any, kind: pa.DataType) -> list[Any]:
    value = _unpacked(value)
    if not isinstance(value, (list, tuple)):
        raise TypeError
    return [plain(element, kind.value_type) for element in value]


def _vector(value: Any, kind: pa.DataType) -> list[Any]:
    if vector_name(kind) == "binary_vector" and isinstance(value, str | bytes) and not str(value).startswith("["):
        value = list(_bytes(value, kind))
    value = _unpacked(value)
    if not isinstance(value, (list, tuple)):
        raise TypeError
    if len(value) != kind.list_size or None in value:
        raise ValueError
    if vector_name(kind) == "bfloat16_vector":
        return [_upper_half(_floating(element, kind)) for element in value]
    return [plain(element, kind.value_type) for element in value]


def _upper_half(number: float) -> int:
    """The upper 16 bits of a float: a bfloat16, cut off as SeaTunnel does."""
    if math.isfinite(number) and abs(number) > LARGEST_FLOAT:
        raise ValueError
    bits: int = struct.unpack(">I", struct.pack(">f", number))[0]
    return bits >> 16


def _map(value: Any, kind: pa.DataType) -> list[tuple[Any, Any]]:
    value = _unpacked(value)
    if not isinstance(value, Mapping):
        raise TypeError
    return [(plain(key, kind.key_type), plain(element, kind.item_type)) for key, element in value.items()]


def _struct(value: Any, kind: pa.DataType) -> dict[str, Any]:
    value = _unpacked(value)
    if isinstance(value, Mapping):
        return {part.name: plain(value.get(part.name), part.type) for part in kind}
    if len(value) != kind.num_fields or isinstance(value, str):
        raise ValueError
    return {part.name: plain(element, part.type) for part, element in zip(kind, value, strict=True)}


def _unpacked(value: Any) -> Any:
    """A nested value may be written as text: ``"{ 12:01:26 = v0 }"`` or JSON."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        if not (text.startswith("{") and text.endswith("}")):
            raise
        pairs = (pair.split("=", 1) for pair in text[1:-1].split(",") if pair.strip())
        return {key.strip().strip('"'): found.strip().strip('"') for key, found in pairs}


def _null(value: Any, kind: pa.DataType) -> None:
    raise ValueError


_CONVERTERS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any, pa.DataType], Any]], ...] = (
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
    (pa.types.is_map, _map),
    (pa.types.is_list, _list),
    (pa.types.is_fixed_size_list, _vector),
    (pa.types.is_struct, _struct),
    (pa.types.is_null, _null),
)
