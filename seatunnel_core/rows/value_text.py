"""Values as texts: in JSON files, on the console and in messages."""

import base64
import json
import math
import struct
from typing import Any

import pyarrow as pa


def json_text(value: Any, kind: pa.DataType) -> str:
    """A value of an Arrow type, as Python has it, as JSON on one line.

    Dates and times are ISO texts, bytes base64, rows and maps objects. A decimal is a number with all its digits, but a
    text inside rows, lists and maps.
    """
    if value is not None and pa.types.is_decimal(kind):
        return f"{value:f}"
    return _ENCODER.encode(_plain(value, kind))


def shortest(value: float) -> float:
    """The number of the fewest digits that is this one in 32 bits: 3.1, not 3.0999999046325684."""
    bits = struct.pack("f", value)
    written = (float(f"{value:.{digits}g}") for digits in (6, 7, 8))
    return next((short for short in written if struct.pack("f", short) == bits), float(f"{value:.9g}"))


def cut(text: str, most: int) -> str:
    """The first characters of a text, and how many there are beyond them."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most:,} more characters)"


def _plain(value: Any, kind: pa.DataType) -> Any:
    """A value as the encoder takes it: with objects for maps, which Arrow gives as lists of pairs."""
    if value is None:
        return None
    if pa.types.is_floating(kind):
        if not math.isfinite(value):
            return str(value)
        return shortest(value) if pa.types.is_float32(kind) else value
    if not pa.types.is_nested(kind):
        return value
    if pa.types.is_map(kind):
        return {_key(_plain(key, kind.key_type)): _plain(element, kind.item_type) for key, element in value}
    if pa.types.is_struct(kind):
        return {part.name: _plain(value[part.name], part.type) for part in kind}
    return [_plain(element, kind.value_type) for element in value]


def _key(value: Any) -> str:
    if isinstance(value, str):
        return value
    return _ENCODER.encode(value).strip('"')


def _other(value: Any) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    return str(value)


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_other)
