"""Conversion of JSON documents from MySQL's binary format to the text format of MySQL."""

import base64
import struct
from collections.abc import Callable, Mapping, Sequence
from json.encoder import encode_basestring
from typing import Any

from seatunnel_core.connectors.mysql_log import column_types as ct
from seatunnel_core.connectors.mysql_log.errors import MalformedLogError, UnsupportedLogError
from seatunnel_core.connectors.mysql_log.values.json_number import double_text
from seatunnel_core.connectors.mysql_log.values.packed_decimal import decimal_text

_SMALL_OBJECT, _LARGE_OBJECT, _SMALL_ARRAY, _LARGE_ARRAY, _LITERAL = 0, 1, 2, 3, 4
_INT16, _UINT16, _INT32, _UINT32, _INT64, _UINT64, _DOUBLE, _STRING, _OPAQUE = 5, 6, 7, 8, 9, 10, 11, 12, 15

_LITERALS = {0: "null", 1: "true", 2: "false"}
_NUMBERS = {
    _INT16: struct.Struct("<h").unpack_from,
    _UINT16: struct.Struct("<H").unpack_from,
    _INT32: struct.Struct("<i").unpack_from,
    _UINT32: struct.Struct("<I").unpack_from,
    _INT64: struct.Struct("<q").unpack_from,
    _UINT64: struct.Struct("<Q").unpack_from,
}
_SMALL, _LARGE = struct.Struct("<HH"), struct.Struct("<II")
_KEY_SMALL, _KEY_LARGE = struct.Struct("<HH"), struct.Struct("<IH")

MOST_DEPTH = 100
"""Maximum depth of a document, which is also MySQL's limit."""


class Builder:
    """Builds the parts of a document. Scalars are passed as strings."""

    object: Callable[[Mapping[str, Any]], Any]
    array: Callable[[Sequence[Any]], Any]
    whole_double_end = ".0"
    """Suffix of a double without a fraction."""


class TextBuilder(Builder):
    """Builds a JSON string."""

    @staticmethod
    def object(members: Mapping[str, str]) -> str:
        """Return an object as a string."""
        return "{" + ", ".join([f"{quoted(key)}: {value}" for key, value in members.items()]) + "}"

    @staticmethod
    def array(elements: Sequence[str]) -> str:
        """Return an array as a string."""
        return "[" + ", ".join(elements) + "]"


class TextBuilderOf57(TextBuilder):
    """Builds a JSON string in MySQL 5.7's format."""

    whole_double_end = ""


class TreeBuilder(Builder):
    """Builds dictionaries and lists, with scalars as strings."""

    object = dict
    array = list


quoted = encode_basestring
"""Function that quotes a JSON string. MySQL escapes the same characters as Python."""


def tree_text(tree: Any) -> str:
    """Convert a tree of ``TreeBuilder`` to a string. Keys are in MySQL's order: by length, then by bytes."""
    if isinstance(tree, dict):
        ordered = sorted((key.encode(), key) for key in tree)
        keys = [key for _, key in sorted(ordered, key=lambda each: (len(each[0]), each[0]))]
        return TextBuilder.object({key: tree_text(tree[key]) for key in keys})
    if isinstance(tree, list):
        return TextBuilder.array([tree_text(each) for each in tree])
    return str(tree)


def document(data: bytes, builder: type[Builder] = TextBuilder) -> Any:
    """Decode a document, by default to a string.

    Raises:
        MalformedLogError: The bytes are not a document.
        UnsupportedLogError: The document contains a value of an unknown type.
    """
    if not data:
        return "null"  # The server could not write the value, as in an UPDATE with IGNORE.
    try:
        return _value(data, data[0], 1, builder, 0)
    except (IndexError, struct.error, UnicodeDecodeError, OverflowError) as error:
        raise MalformedLogError(f"a JSON document of {len(data)} bytes is damaged: {error}") from None


def _value(data: bytes, kind: int, at: int, builder: type[Builder], depth: int) -> Any:
    if kind == _STRING:
        length, at = (data[at], at + 1) if data[at] < 128 else _length(data, at)
        return quoted(_part(data, at, length).decode())
    if kind in _NUMBERS:
        return str(_NUMBERS[kind](data, at)[0])
    if kind <= _LARGE_ARRAY:
        if depth > MOST_DEPTH:
            raise IndexError(f"it is nested more than {MOST_DEPTH} levels deep")
        return _container(data, kind, at, builder, depth)
    if kind == _LITERAL:
        return _LITERALS[data[at]] if data[at] in _LITERALS else _unknown(f"literal {data[at]}")
    if kind == _DOUBLE:
        return double_text(struct.unpack_from("<d", data, at)[0], builder.whole_double_end)
    if kind == _OPAQUE:
        length, start = _length(data, at + 1)
        return _opaque(data[at], _part(data, start, length))
    return _unknown(f"type {kind}")


def _unknown(what: str) -> Any:
    raise UnsupportedLogError(f"a JSON document contains a value with the {what}, which this version does not support")


def _part(data: bytes, at: int, length: int) -> bytes:
    if at + length > len(data):
        raise IndexError("a string extends beyond the end of the document")
    return data[at : at + length]


def _length(data: bytes, at: int) -> tuple[int, int]:
    """Return a length that is stored with 7 bits per byte, and the offset after it."""
    found = shift = 0
    while True:
        byte = data[at]
        found |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return found, at
        if shift > 28:
            raise IndexError("a length has more than five bytes")


def _container(data: bytes, kind: int, at: int, builder: type[Builder], depth: int) -> Any:
    """Decode an object or array. It starts with its counts, and its offsets are relative to its start."""
    large = kind in (_LARGE_OBJECT, _LARGE_ARRAY)
    count, size = (_LARGE if large else _SMALL).unpack_from(data, at)
    width = 4 if large else 2
    if at + size > len(data):
        raise IndexError("an object or array extends beyond the end of the document")
    is_object = kind in (_SMALL_OBJECT, _LARGE_OBJECT)
    entries = at + 2 * width + (count * (width + 2) if is_object else 0)
    if entries + count * (width + 1) > at + size:
        raise IndexError(f"{count} members do not fit into {size} bytes")
    values = [_member(data, at, entries + number * (width + 1), width, builder, depth) for number in range(count)]
    if not is_object:
        return builder.array(values)
    keys = (_KEY_LARGE if large else _KEY_SMALL).iter_unpack(data[at + 2 * width : entries])
    names = [_part(data, at + offset, length).decode() for offset, length in keys]
    return builder.object(dict(zip(names, values, strict=True)))


def _member(data: bytes, start: int, entry: int, width: int, builder: type[Builder], depth: int) -> Any:
    """Return the value of an entry, which contains either a small value or the value's offset."""
    kind = data[entry]
    inlined = kind in (_LITERAL, _INT16, _UINT16) or (width == 4 and kind in (_INT32, _UINT32))
    if inlined:
        return _value(data, kind, entry + 1, builder, depth + 1)
    offset = int.from_bytes(_part(data, entry + 1, width), "little")
    return _value(data, kind, start + offset, builder, depth + 1)


def _opaque(kind: int, value: bytes) -> str:
    """Format a value of an SQL type that does not exist in JSON."""
    if kind in (ct.NEWDECIMAL, ct.DECIMAL):
        return decimal_text(value[2:], value[0], value[1])
    if kind in (ct.DATE, ct.TIME, ct.DATETIME, ct.TIMESTAMP) and len(value) == 8:
        return quoted(_temporal(kind, int.from_bytes(value, "little", signed=True)))
    return quoted(f"base64:type{kind}:{base64.b64encode(value).decode()}")


def _temporal(kind: int, packed: int) -> str:
    """Format a packed date or time. Its lowest 24 bits are microseconds."""
    sign = "-" if packed < 0 else ""
    whole, micros = abs(packed) >> 24, abs(packed) & 0xFFFFFF
    clock = f"{whole >> 6 & 63:02d}:{whole & 63:02d}.{micros:06d}"
    if kind == ct.TIME:
        return f"{sign}{whole >> 12 & 1023:02d}:{clock}"
    day, months = whole >> 17 & 31, whole >> 22
    shown = f"{months // 13:04d}-{months % 13:02d}-{day:02d}"
    return shown if kind == ct.DATE else f"{shown} {whole >> 12 & 31:02d}:{clock}"
