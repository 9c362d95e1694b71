"""Range of dates and times in rows: the years 1 to 9999, and times within one day.

Arrow, databases and files have larger ranges. Sources reject rows with values out of range, because these would be
changed or raise an exception downstream.
"""

from collections.abc import Callable
from datetime import date
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as of

from seatunnel_core.rows.types import type_name

_DAY_S = 86_400
_FIRST_DAY = date.min.toordinal() - date(1970, 1, 1).toordinal()
_LAST_DAY = date.max.toordinal() - date(1970, 1, 1).toordinal()
_PARTS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}

BEYOND = "is outside the years 1 to 9999 or the 24 hours of a day, the range that rows support"


def beyond(values: pa.Array) -> pa.Array | None:
    """Return a mask of values that are out of range or contain such a value; ``None`` if there are none."""
    if of.is_list(values.type):
        return _beyond_in_lists(values)
    limits = _limits(values.type)
    if limits is None or values.null_count == len(values):
        return None
    least, most = limits
    numbers = values.view(pa.int32() if values.type.bit_width == 32 else pa.int64())
    found = pc.min_max(numbers).as_py()
    if least <= found["min"] and found["max"] <= most:
        return None
    return pc.fill_null(pc.or_(pc.less(numbers, least), pc.greater(numbers, most)), False)


def _beyond_in_lists(values: pa.Array) -> pa.Array | None:
    inside = beyond(values.flatten())
    if inside is None:
        return None
    wrong = pc.list_parent_indices(values).filter(inside)
    return pc.is_in(pa.array(range(len(values)), wrong.type), wrong)


def shown(value: pa.Scalar) -> str:
    """Format a value, even if Python cannot represent it."""
    if of.is_time(value.type) and value.is_valid:
        return _clock(value.value, _PARTS[value.type.unit])
    try:
        return str(value.as_py())
    except (ValueError, OverflowError):
        text = str(value.cast(pa.string()))
    return text if "out of range" not in text else f"the number {value.value} of type {type_name(value.type)}"


def _clock(number: int, per_second: int) -> str:
    """Format a time, which may be ``24:00:00`` or later."""
    seconds, parts = divmod(abs(number), per_second)
    minutes, hours = seconds // 60 % 60, seconds // 3600
    fraction = f".{parts * 1_000_000 // per_second:06d}" if parts else ""
    return f"{'-' * (number < 0)}{hours:02d}:{minutes:02d}:{seconds % 60:02d}{fraction}"


def first_beyond(values: pa.Array, kinds: Callable[[pa.DataType], bool]) -> pa.Scalar | None:
    """Return the first out-of-range value of these types, at any depth; ``None`` if there is none."""
    if not _has_limits(values.type):
        return None
    if not of.is_nested(values.type):
        found = beyond(values) if kinds(values.type) else None
        return None if found is None else values[found.index(True).as_py()]
    return next((found for part in _parts(values) if (found := first_beyond(part, kinds)) is not None), None)


@lru_cache(1024)
def _has_limits(kind: pa.DataType) -> bool:
    if of.is_nested(kind):
        return any(_has_limits(kind.field(part).type) for part in range(kind.num_fields))
    return _limits(kind) is not None


def _parts(values: pa.Array) -> list[pa.Array]:
    """Return the child arrays of a nested array, without the values below null parents."""
    if of.is_map(values.type):
        pairs = pa.ListArray.from_arrays(values.offsets, pa.StructArray.from_arrays([values.keys, values.items], "ki"))
        return pairs.filter(values.is_valid()).flatten().flatten()  # type: ignore[no-any-return]
    found = values.flatten()
    return found if of.is_struct(values.type) else [found]


def _limits(kind: pa.DataType) -> tuple[int, int] | None:
    """Return the smallest and the largest number that a type allows; ``None`` if it has no limits."""
    if of.is_date32(kind):
        return _FIRST_DAY, _LAST_DAY
    if of.is_date64(kind):
        return _FIRST_DAY * _DAY_S * 1_000, _LAST_DAY * _DAY_S * 1_000
    if of.is_timestamp(kind):
        parts = _PARTS[kind.unit]
        return _FIRST_DAY * _DAY_S * parts, (_LAST_DAY + 1) * _DAY_S * parts - 1
    if of.is_time(kind):
        return 0, _DAY_S * _PARTS[kind.unit] - 1
    return None
