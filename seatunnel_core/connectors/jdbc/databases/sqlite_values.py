"""Conversion of SQLite's values to declared types. SQLite stores any value in any column, so misfits are reported."""

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pyarrow.types as of

from seatunnel_core.connectors.jdbc.column import Column
from seatunnel_core.connectors.jdbc.fetched import converted
from seatunnel_core.rows.values import number_text

_TRUTH = {"true": True, "false": False, "t": True, "f": False, "1": True, "0": False}

_EXACT_DIGITS = 15
"""Number of decimal digits that a double always preserves and that SQLite displays."""

_WIDE = Context(prec=200)

_TOO_FINE = re.compile(r"[.,]\d{6}0*[1-9]", re.ASCII)


def array_of(values: list[Any], column: Column) -> tuple[pa.Array, Mapping[int, str]]:
    """Convert a column. Return it with null for values that rows cannot represent, and error messages by row index."""
    kind = column.arrow
    one = _reader(kind)
    hint = f"; convert it in query, for example {_HINTS.get(_family(kind), 'CAST({} AS TEXT)')}".format(
        f'"{column.name}"'
    )

    def convert(some: list[Any]) -> pa.Array:
        return pa.array([None if value is None else one(value) for value in some], kind)

    return converted(values, convert, hint)


_HINTS = {"moment": "datetime({}, 'unixepoch')", "bool": "{} <> 0", "number": "CAST({} AS TEXT)"}


def _family(kind: pa.DataType) -> str:
    if of.is_temporal(kind):
        return "moment"
    return "bool" if of.is_boolean(kind) else "number" if not of.is_string(kind) else "text"


def _reader(kind: pa.DataType) -> Callable[[Any], Any]:
    """Return a function that converts a value to a type, or raises ``ValueError``."""
    if of.is_decimal(kind):
        return lambda value: _decimal(value, kind)
    readers: dict[str, Callable[[Any], Any]] = {
        "bool": _truth,
        "int64": _integer,
        "double": _float,
        "string": _text,
        "binary": _bytes,
        "date32[day]": _date,
        "timestamp[us]": _moment,
        "time64[us]": _time,
    }
    return readers[str(kind)]


def _truth(value: Any) -> bool:
    found = _TRUTH.get(str(value).lower()) if not isinstance(value, bytes) else None
    if found is None:
        raise ValueError("it is neither true nor false")
    return found


def _integer(value: Any) -> int:
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return int(value)
    raise ValueError("it is not a whole number")


def _float(value: Any) -> float:
    if isinstance(value, float):
        return value
    if isinstance(value, int) and int(float(value)) == value:
        return float(value)
    raise ValueError("it is not a floating-point number")


def _decimal(value: Any, kind: pa.DataType) -> Decimal:
    if isinstance(value, bytes):
        raise ValueError("it is not a number")
    try:
        found = Decimal(repr(value) if isinstance(value, float) else number_text(str(value)))
    except ArithmeticError:
        raise ValueError("it is not a number") from None
    if not found.is_finite():
        raise ValueError("it is not a finite number")
    if isinstance(value, float) and _places(found) > kind.scale:  # SQLite displays 0.30000000000000004 as 0.3
        found = Decimal(format(value, f".{_EXACT_DIGITS}g"))
    if _places(found) > kind.scale:
        raise ValueError(f"it has more than {kind.scale} digits after the decimal point")
    return found


def _places(number: Decimal) -> int:
    exponent = number.normalize(_WIDE).as_tuple().exponent
    assert isinstance(exponent, int)
    return -exponent


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        raise ValueError("it contains bytes, not text")
    return value if isinstance(value, str) else str(value)


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    raise ValueError("it is a number, not bytes")


def _moment(value: Any) -> datetime:
    """Parse a date or time in the format of SQLite's functions; reject numbers, because their unit is unknown."""
    if not isinstance(value, str):
        raise ValueError("it is a number in an unknown unit; expected a date and time as text")
    found = datetime.fromisoformat(value.strip())
    if found.utcoffset():
        raise ValueError("it has a time zone other than UTC")
    if _TOO_FINE.search(value):
        raise ValueError("it is more precise than a microsecond")
    return found.replace(tzinfo=None)


def _date(value: Any) -> date:
    found = _moment(value)
    if found.time() != time():
        raise ValueError("it contains a time of day; expected only a date")
    return found.date()


def _time(value: Any) -> time:
    if not isinstance(value, str):
        raise ValueError("it is not text; expected a time as text")
    found = time.fromisoformat(value)
    if found.tzinfo is not None:
        raise ValueError("it contains a time zone")
    if _TOO_FINE.search(value):
        raise ValueError("it is more precise than a microsecond")
    return found


def text_of_digits(arrow: pa.DataType) -> Any:
    """Return a string type for decimals of more than 15 digits, which a numeric column would round; else ``None``."""
    from sqlalchemy.types import UserDefinedType

    class Digits(UserDefinedType[Decimal]):
        """A type named TEXT, so that SQLite stores strings unchanged."""

        cache_ok = True

        def get_col_spec(self, **_: Any) -> str:
            return f"DECIMAL_TEXT({digits[0]}, {digits[1]})"

    digits = (20, 0) if arrow == pa.uint64() else (arrow.precision, arrow.scale) if of.is_decimal(arrow) else (0, 0)
    return Digits() if digits[0] > _EXACT_DIGITS else None


def plain(column: pa.Array, declared: str) -> list[Any]:
    """Convert values to the form that SQLite stores; raise ``ValueError`` if SQLite would store a different value."""
    one: Callable[[Any], Any] | None = None
    if of.is_decimal(column.type):
        one = str if _keeps_texts(declared) else _kept_number
    elif of.is_temporal(column.type):
        one = _shown
    elif of.is_floating(column.type):
        one = _kept_float
    values: list[Any] = column.to_pylist()
    return values if one is None else [None if value is None else one(value) for value in values]


def _keeps_texts(declared: str) -> bool:
    """Return True if strings that look like numbers remain strings, according to SQLite's affinity rules."""
    words = declared.upper()
    return "INT" not in words and (not words or any(part in words for part in ("CHAR", "CLOB", "TEXT", "BLOB")))


def _kept_number(value: Decimal) -> int | str:
    """Return an integer for a whole number, else a string, which SQLite turns into a double if no digits are lost."""
    if value == value.to_integral_value() and -(2**63) <= value < 2**63:
        return int(value)
    if len(value.normalize(_WIDE).as_tuple().digits) > _EXACT_DIGITS:
        raise ValueError(
            f"SQLite would keep only {_EXACT_DIGITS} digits of the number in this column; declare the column as TEXT"
        )
    return str(value)


def _kept_float(value: float) -> float:
    if value != value:
        raise ValueError("NaN would become null")
    return value


def _shown(value: Any) -> str:
    return value.isoformat(" ") if isinstance(value, datetime) else str(value.isoformat())
