"""Arrays, maps and rows inside ``text`` and ``csv``, as SeaTunnel writes them.

Control characters separate their elements: U+0002 at the outermost level, U+0003 at the next level, and so on up to
U+0007. In a map, U+0002 separates entries and U+0003 separates key and value. An empty element is null.
"""

import datetime as dt
from typing import Any

import pyarrow as pa

from seatunnel_core.connectors.file.formats.row_batches import Texts
from seatunnel_core.connectors.file.formats.written_text import Form, Forms
from seatunnel_core.rows.types import type_name
from seatunnel_core.rows.value_text import float_text

SEPARATORS = "\x02\x03\x04\x05\x06\x07"


def unfit(columns: pa.Schema) -> str | None:
    """Return the last part of an error message about the first unsupported column; ``None`` if all are supported."""
    for column in columns:
        levels = _levels(column.type)
        if levels is None or levels > len(SEPARATORS):
            return (
                f"column {column.name!r} of type {type_name(column.type)}: "
                f"{'it contains vectors' if levels is None else f'it is nested more than {len(SEPARATORS)} times'}"
            )
    return None


def parsed(texts: pa.Array, kind: pa.DataType, forms: Texts) -> pa.Array:
    """Parse strings into values of a nested type; raise ``pa.ArrowInvalid`` for an invalid string."""
    try:
        return pa.array([None if text is None else _value(text, kind, forms, 0) for text in texts.to_pylist()], kind)
    except ValueError as error:
        raise pa.ArrowInvalid(str(error)) from None


def written(values: pa.Array, forms: Forms) -> pa.Array:
    """Return nested values as strings; raise ``ValueError`` if a value contains a separator or invalid UTF-8."""
    found = [None if value is None else _text(value, values.type, forms, 0) for value in values.to_pylist()]
    return pa.array(found, pa.string())


def _levels(kind: pa.DataType) -> int | None:
    """Return the number of separator levels that a type needs; ``None`` if it contains vectors."""
    if pa.types.is_fixed_size_list(kind):
        return None
    if not pa.types.is_nested(kind):
        return 0
    if pa.types.is_map(kind):
        parts, own = [kind.key_type, kind.item_type], 2
    else:
        parts, own = [kind.field(place).type for place in range(kind.num_fields)], 1
    levels = [_levels(part) for part in parts]
    known = [level for level in levels if level is not None]
    return own + max(known, default=0) if len(known) == len(levels) else None


def _value(text: str, kind: pa.DataType, forms: Texts, level: int) -> Any:
    if not text:
        return None
    if pa.types.is_map(kind):
        return [_entry(entry, kind, forms, level) for entry in text.split(SEPARATORS[level])]
    if pa.types.is_struct(kind):
        parts = text.split(SEPARATORS[level])
        if len(parts) > kind.num_fields:
            raise ValueError(f"{text[:80]!r} has {len(parts)} fields, expected {kind.num_fields} of {type_name(kind)}")
        parts += [""] * (kind.num_fields - len(parts))
        return {part.name: _value(each, part.type, forms, level + 1) for part, each in zip(kind, parts, strict=True)}
    if pa.types.is_nested(kind):
        return [_value(part, kind.value_type, forms, level + 1) for part in text.split(SEPARATORS[level])]
    return text.encode() if pa.types.is_binary(kind) else forms.value(text, kind)


def _entry(text: str, kind: pa.DataType, forms: Texts, level: int) -> tuple[Any, Any]:
    key, _, value = text.partition(SEPARATORS[level + 1])
    if not key:
        raise ValueError(f"{text[:80]!r} is a map entry without a key")
    return _value(key, kind.key_type, forms, level + 2), _value(value, kind.item_type, forms, level + 2)


def _text(value: Any, kind: pa.DataType, forms: Forms, level: int) -> str:
    if value is None:
        return ""
    if pa.types.is_map(kind):
        return SEPARATORS[level].join(
            SEPARATORS[level + 1].join(
                (_key(key, kind.key_type, forms, level + 2), _text(item, kind.item_type, forms, level + 2))
            )
            for key, item in value
        )
    if pa.types.is_struct(kind):
        return SEPARATORS[level].join(_text(value[part.name], part.type, forms, level + 1) for part in kind)
    if pa.types.is_nested(kind):
        return SEPARATORS[level].join(_text(part, kind.value_type, forms, level + 1) for part in value)
    text = _plain(value, kind, forms)
    if any(sign in text for sign in SEPARATORS):
        raise ValueError(
            f"{text[:60]!r} contains one of the characters U+0002 to U+0007, which separate nested values; use json"
        )
    return text


def _key(value: Any, kind: pa.DataType, forms: Forms, level: int) -> str:
    text = _text(value, kind, forms, level)
    if not text:
        raise ValueError("a map contains an empty key, which could not be read back; use json")
    return text


def _plain(value: Any, kind: pa.DataType, forms: Forms) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dt.datetime):
        form = forms.datetime_format if kind.tz is None else None
        return Form.of(form).value(value) if form else value.isoformat(" ")
    if isinstance(value, dt.date):
        return Form.of(forms.date_format).value(value) if forms.date_format else value.isoformat()
    if isinstance(value, dt.time) and forms.time_format:
        return value.isoformat("microseconds")[: len(forms.time_format)]
    if pa.types.is_decimal(kind):
        return f"{value:f}"
    return float_text(value, kind) if pa.types.is_floating(kind) else str(value)
