"""Decoding of values in Debezium messages by the schema in the message or, if there is none, as in SeaTunnel.

Kafka Connect's JSON represents bytes in base64 and dates as numbers, with types in the schema. Without a schema
(``value.converter.schemas.enable = false``), the column type decides: bytes for a decimal column have the column's
scale, and the magnitude of a number decides whether a time is in milliseconds, microseconds or nanoseconds.
"""

import base64
import datetime as dt
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa

from seatunnel_core.rows.repeated_keys import RepeatedKeys

Schema = Mapping[str, Any]
"""Schema of a value in the form of Kafka Connect: ``type``, ``name``, ``parameters``, ``fields``, ``items``."""

UNAVAILABLE = "__debezium_unavailable_value"
UNAVAILABLE_BYTES = base64.b64encode(UNAVAILABLE.encode()).decode()
"""Debezium's placeholders for values that the database did not log, as a string and as bytes."""

UNKNOWN = object()
"""Marker in a decoded row for a value that the database did not log."""

_EPOCH = dt.datetime(1970, 1, 1)
_DAY_US = 86_400_000_000


def schemas_of(message: Mapping[str, Any]) -> Mapping[str, Schema] | None:
    """Return the schema of each column of a message; ``None`` for a message without a schema."""
    fields = _fields((message.get("schema") or {}) if "payload" in message else {})
    side = fields.get("after") or fields.get("before")
    return None if side is None else _fields(side)


def typed(row: Mapping[str, Any], columns: pa.Schema, schemas: Mapping[str, Schema] | None) -> Mapping[str, Any]:
    """Return a row with decoded values, and ``UNKNOWN`` for unlogged ones. Raise ValueError for invalid values."""
    found = dict(row)
    for column in columns:
        value = found.get(column.name)
        if isinstance(value, str) and value in (UNAVAILABLE, UNAVAILABLE_BYTES):
            found[column.name] = UNKNOWN
        elif value is not None:
            schema = None if schemas is None else schemas.get(column.name, {})
            try:
                found[column.name] = _value(value, column.type, schema)
            except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
                shown = str(error) if isinstance(error, ValueError) else "the value does not match its schema"
                raise ValueError(f"column {column.name!r}: {shown}") from None
    return RepeatedKeys(found, row.repeated) if isinstance(row, RepeatedKeys) else found


def _fields(schema: Schema) -> dict[str, Schema]:
    return {each["field"]: each for each in schema.get("fields") or ()}


def _value(value: Any, kind: pa.DataType, schema: Schema | None) -> Any:
    if value is None:
        return None
    if isinstance(value, str) and value in (UNAVAILABLE, UNAVAILABLE_BYTES):
        raise ValueError("the database did not log the value (in PostgreSQL, set REPLICA IDENTITY FULL)")
    if schema is None:
        return _nested(value, kind, None, None, lambda _: None) if pa.types.is_nested(kind) else _unnamed(value, kind)
    named = _NAMED.get(schema.get("name") or "")
    if named is not None:
        return named(value, kind, schema)
    if pa.types.is_boolean(kind):
        return _flag(value)
    if pa.types.is_nested(kind):
        return _nested(value, kind, schema.get("items"), schema.get("values"), _fields(schema).get)
    if schema.get("type") in ("string", "float", "double", "boolean"):
        return value
    return _unnamed(value, kind)


def _nested(
    value: Any,
    kind: pa.DataType,
    items: Schema | None,
    values: Schema | None,
    field: Callable[[str], Schema | None],
) -> Any:
    if pa.types.is_struct(kind) and isinstance(value, Mapping):
        return {part.name: _value(value.get(part.name), part.type, field(part.name)) for part in kind}
    if pa.types.is_list(kind) and isinstance(value, list):
        return [_value(each, kind.value_type, items) for each in value]
    if pa.types.is_map(kind) and isinstance(value, Mapping):
        return {key: _value(each, kind.item_type, values) for key, each in value.items()}
    return value


# -- named types ----------------------------------------------------------------------------------------------------


def _decimal(value: Any, kind: pa.DataType, schema: Schema) -> Any:
    if not isinstance(value, str):  # decimal.format = NUMERIC
        return value
    return _as_column(_unscaled(value, int(schema["parameters"]["scale"])), kind)


def _variable_decimal(value: Any, kind: pa.DataType, _: Schema) -> Any:
    return _as_column(_unscaled(value["value"], value["scale"]), kind)


def _unscaled(text: str, scale: int) -> Decimal:
    """Decode a decimal from its scale and its unscaled value in base64, in the format of Java's ``BigInteger``."""
    try:
        digits = base64.b64decode(text, validate=True)
    except ValueError:
        digits = b""
    if not digits:
        raise ValueError(
            f"{text[:40]!r} is not a base64-encoded number, as written with decimal.handling.mode = precise; "
            "numbers as strings require value.converter.schemas.enable = true"
        )
    return Decimal(f"{int.from_bytes(digits, 'big', signed=True)}E{-scale}")


def _as_column(number: Decimal, kind: pa.DataType) -> Any:
    return f"{number:f}" if pa.types.is_string(kind) else number


def _bits(value: Any, kind: pa.DataType, _: Schema) -> Any:
    return int.from_bytes(base64.b64decode(value, validate=True), "little") if pa.types.is_integer(kind) else value


def _counted(read: Callable[[int], Any]) -> Callable[[Any, pa.DataType, Schema], Any]:
    """Return a decoder for numeric dates or times. In an integer column, the number is not decoded."""

    def convert(value: Any, kind: pa.DataType, _: Schema) -> Any:
        if not _is_number(value) or pa.types.is_integer(kind):
            return value
        found = read(value)
        if pa.types.is_string(kind):
            return found.isoformat()
        has_zone = pa.types.is_timestamp(kind) and kind.tz
        return found.replace(tzinfo=dt.UTC) if has_zone and isinstance(found, dt.datetime) else found

    return convert


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _flag(value: Any) -> Any:
    """Convert a MySQL TINYINT(1), which arrives as a number, to a boolean."""
    return bool(value) if _is_number(value) and value in (0, 1) else value


def _date(days: int) -> dt.date:
    return (_EPOCH + dt.timedelta(days=days)).date()


def _moment(microseconds: int) -> dt.datetime:
    return _EPOCH + dt.timedelta(microseconds=microseconds)


def _time(microseconds: int) -> dt.time:
    if not 0 <= microseconds < _DAY_US:
        raise ValueError(f"{microseconds} microseconds are not a time of day; declare the column as bigint")
    return _moment(microseconds).time()


def _of_nanoseconds(nanoseconds: int) -> int:
    if nanoseconds % 1000:
        raise ValueError(f"{nanoseconds} nanoseconds are more precise than a microsecond; declare the column as bigint")
    return nanoseconds // 1000


def _zoned(value: Any, kind: pa.DataType, _: Schema | None = None) -> Any:
    """Decode a timestamp or a time with an offset. A column without a time zone accepts only UTC."""
    if not isinstance(value, str):
        return value
    if pa.types.is_time(kind):
        found: Any = dt.time.fromisoformat(value)
    elif pa.types.is_timestamp(kind) and kind.tz is None and value[:4].isdigit() and "T" in value:
        found = dt.datetime.fromisoformat(value)
    else:
        return value
    if found.utcoffset():
        raise ValueError(f"{value!r} has a UTC offset; declare the column as timestamp_tz, or as string")
    return found.replace(tzinfo=None)


def _iso(value: Any, kind: pa.DataType, _: Schema) -> Any:
    """Decode a string of ``time.precision.mode = isostring`` without its ``Z``, which does not mean UTC here."""
    with_zone = pa.types.is_string(kind) or (pa.types.is_timestamp(kind) and kind.tz)
    return value if with_zone or not isinstance(value, str) else value.removesuffix("Z")


_CONNECT, _TIME, _DATA = "org.apache.kafka.connect.data.", "io.debezium.time.", "io.debezium.data."
_NAMED: dict[str, Callable[[Any, pa.DataType, Schema], Any]] = {
    f"{_CONNECT}Decimal": _decimal,
    f"{_DATA}VariableScaleDecimal": _variable_decimal,
    f"{_DATA}Bits": _bits,
    **{f"{package}Date": _counted(_date) for package in (_CONNECT, _TIME)},
    **{f"{package}Timestamp": _counted(lambda ms: _moment(ms * 1000)) for package in (_CONNECT, _TIME)},
    f"{_TIME}MicroTimestamp": _counted(_moment),
    f"{_TIME}NanoTimestamp": _counted(lambda ns: _moment(_of_nanoseconds(ns))),
    **{f"{package}Time": _counted(lambda ms: _time(ms * 1000)) for package in (_CONNECT, _TIME)},
    f"{_TIME}MicroTime": _counted(_time),
    f"{_TIME}NanoTime": _counted(lambda ns: _time(_of_nanoseconds(ns))),
    f"{_TIME}ZonedTimestamp": _zoned,
    f"{_TIME}ZonedTime": _zoned,
    **{f"{_TIME}{name}": _iso for name in ("IsoDate", "IsoTime", "IsoTimestamp")},
}


# -- types without a name ---------------------------------------------------------------------------------------------


def _unnamed(value: Any, kind: pa.DataType) -> Any:
    """Convert a value without a Debezium type name according to the column type, as in SeaTunnel."""
    if pa.types.is_decimal(kind):
        if isinstance(value, Mapping):
            return _unscaled(value["value"], value["scale"])
        written = isinstance(value, str) and (
            "." in value or value.startswith("-")
        )  # Characters that base64 does not contain.
        return value if written or not isinstance(value, str) else _unscaled(value, kind.scale)
    if pa.types.is_boolean(kind):
        return _flag(value)
    if not _is_number(value):
        return _zoned(value, kind)
    if pa.types.is_date(kind):
        return _date(value)
    if pa.types.is_time(kind):
        return _time(value * 1000 if value < _DAY_US // 1000 else value if value < _DAY_US else _of_nanoseconds(value))
    if pa.types.is_timestamp(kind):
        moment = _moment(_microseconds(value))
        return moment.replace(tzinfo=dt.UTC) if kind.tz else moment
    return value


def _microseconds(value: int) -> int:
    """Convert a timestamp to microseconds. Its number of digits determines its unit."""
    digits = len(str(abs(value)))
    if digits > 16:
        return _of_nanoseconds(value)
    return value if digits > 13 else value * 1000 if digits > 10 else value * 1_000_000
