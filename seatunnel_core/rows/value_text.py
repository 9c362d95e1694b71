"""Formatting of values in JSON files, on the console and in messages."""

import base64
import json
import math
import struct
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_core.rows.types import vector_name
from seatunnel_core.work.names import repeated


def json_text(value: Any, kind: pa.DataType) -> str:
    """Format a Python value of an Arrow type as JSON on one line.

    Dates and times are ISO strings, bytes are base64, rows and maps are objects. A decimal is a number with all its
    digits.

    Raises:
        ValueError: A map has a duplicate key. An object would keep only one of its values.
    """
    if not _holds_decimals(kind):
        return _ENCODER.encode(_plain(value, kind))
    if value is None:
        return "null"
    if pa.types.is_decimal(kind):
        return f"{value:f}"
    if pa.types.is_struct(kind):
        return _braced((part.name, json_text(value[part.name], part.type)) for part in kind)
    if pa.types.is_map(kind):
        names = _object(value, kind)
        items = (json_text(item, kind.item_type) for _, item in value)
        return _braced(zip(names, items, strict=True))
    return f"[{','.join(json_text(element, kind.value_type) for element in value)}]"


def plain_bytes(value: Any, kind: pa.DataType) -> bytes | None:
    """Convert a value to bytes: strings and bytes unchanged, other types as JSON without quotes."""
    if value is None or isinstance(value, bytes | str):
        return value.encode() if isinstance(value, str) else value
    text = json_text(value, kind)
    return (text if pa.types.is_nested(kind) else text.strip('"')).encode()


@lru_cache(maxsize=256)
def _holds_decimals(kind: pa.DataType) -> bool:
    """Return True if values of a type contain decimals, which ``json`` cannot encode."""
    if pa.types.is_struct(kind):
        return any(_holds_decimals(part.type) for part in kind)
    if pa.types.is_map(kind):
        return _holds_decimals(kind.item_type)
    return pa.types.is_decimal(kind) or (pa.types.is_nested(kind) and _holds_decimals(kind.value_type))


def _braced(parts: Iterable[tuple[str, str]]) -> str:
    return "{" + ",".join(f"{_ENCODER.encode(name)}:{text}" for name, text in parts) + "}"


def shortest(value: float) -> float:
    """Return the number with the fewest digits and the same 32-bit value: 3.1, not 3.0999999046325684."""
    bits = struct.pack("f", value)
    written = (float(f"{value:.{digits}g}") for digits in (6, 7, 8))
    return next((short for short in written if struct.pack("f", short) == bits), float(f"{value:.9g}"))


def float_text(value: float, kind: pa.DataType) -> str:
    """Format a number with the fewest digits that identify it in its type. NaN and infinities have Java's names."""
    if not math.isfinite(value):
        return json.dumps(value)  # NaN, Infinity, -Infinity
    return str(shortest(value) if pa.types.is_float32(kind) else value)


def float_texts(values: pa.Array) -> pa.Array:
    """Format floating-point numbers like Arrow, but NaN and infinities like ``float_text``."""
    texts = values.cast(pa.string())
    if pc.all(pc.is_finite(values)).as_py() is not False:
        return texts
    named = pc.if_else(pc.is_nan(values), "NaN", pc.if_else(pc.greater(values, 0), "Infinity", "-Infinity"))
    return pc.if_else(pc.is_finite(values), texts, named)


def cut(text: str, most: int) -> str:
    """Return a string truncated to ``most`` characters, with the number of omitted characters appended."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most:,} more characters)"


def _plain(value: Any, kind: pa.DataType) -> Any:
    """Convert a value for the encoder: maps, which Arrow returns as lists of pairs, become objects."""
    if value is None:
        return None
    if pa.types.is_floating(kind):
        if not math.isfinite(value):
            return json.dumps(value)  # NaN, Infinity and -Infinity as strings, because JSON lacks them
        return shortest(value) if pa.types.is_float32(kind) else value
    if not pa.types.is_nested(kind):
        return value
    if pa.types.is_map(kind):
        return _object(value, kind)
    if pa.types.is_struct(kind):
        return {part.name: _plain(value[part.name], part.type) for part in kind}
    if vector_name(kind) == "bfloat16_vector":
        return [_plain(_of_upper_half(bits), pa.float32()) for bits in value]
    return [_plain(element, kind.value_type) for element in value]


def _object(pairs: list[tuple[Any, Any]], kind: pa.DataType) -> dict[str, Any]:
    found = {_key(_plain(key, kind.key_type)): _plain(element, kind.item_type) for key, element in pairs}
    if len(found) < len(pairs):
        names = [_key(_plain(key, kind.key_type)) for key, _ in pairs]
        twice = repeated(names)[0]
        raise ValueError(
            f"a map contains the key {cut(repr(twice), 60)} more than once, which a JSON object does not allow"
        )
    return found


def _of_upper_half(bits: int) -> float:
    number: float = struct.unpack(">f", struct.pack(">HH", bits, 0))[0]
    return number


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
