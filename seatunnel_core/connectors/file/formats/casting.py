"""Casts of values from typed files to the types of a table. Values that would change are rejected.

For most casts, Arrow checks this itself. Otherwise, the result is cast back and compared. Only a declared type may drop
a part of a value: a timestamp may become its date or its time of day.
"""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as of

from seatunnel_core.rows.values import plain


def cast(array: pa.Array, kind: pa.DataType, *, declared: bool = False) -> pa.Array:
    """Cast an array. Unlike Arrow, also cast strings to times and to null, because some formats lack these types.

    Raises:
        ValueError: A value would change.
        pa.ArrowNotImplementedError: Arrow has no cast between the types.
    """
    if of.is_string(array.type) and (of.is_time(kind) or of.is_null(kind)):
        return pa.array([plain(value, kind) for value in array.to_pylist()], kind)
    if isinstance(array.type, pa.BaseExtensionType):
        return _from_extension(array, kind)
    if of.is_decimal(kind) and (of.is_integer(array.type) or of.is_floating(array.type)):
        # Arrow requires room for the largest integer, and accepts 0.100000000000000006 as 0.1.
        return array.cast(pa.string()).cast(kind)
    array = _in_utc(array, kind)
    made = array.cast(kind)
    _require_same(array, made, declared=declared)
    return made


def _in_utc(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Convert timestamps to UTC without a zone; casts to dates or times would otherwise use the local time."""
    if of.is_timestamp(array.type) and array.type.tz and (of.is_date(kind) or of.is_time(kind)):
        return array.cast(pa.timestamp(array.type.unit))
    return array


def _from_extension(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if of.is_string(kind) and not of.is_string(array.type.storage_type):  # A UUID in its usual notation.
        return pa.array([None if value is None else str(value) for value in array.to_pylist()], kind)
    return cast(array.storage, kind)


def _require_same(found: pa.Array, made: pa.Array, *, declared: bool) -> None:
    """Raise ``ValueError`` if the cast changed a value, including nested values."""
    if found.type == made.type or len(found) == 0:
        return
    if of.is_struct(made.type) and of.is_struct(found.type):
        for part in made.type:
            if found.type.get_field_index(part.name) >= 0:
                _require_same(_part(found, part.name), _part(made, part.name), declared=declared)
    elif of.is_map(made.type) and of.is_map(found.type):
        for mine, other in zip(_entries(found), _entries(made), strict=True):
            _require_same(mine, other, declared=declared)
    elif of.is_nested(made.type):
        _require_same(found.flatten(), made.flatten(), declared=declared)
    elif not (declared and of.is_timestamp(found.type) and (of.is_date(made.type) or of.is_time(made.type))):
        _require_same_values(found, made)


def _part(rows: pa.StructArray, name: str) -> pa.Array:
    return rows.flatten()[rows.type.get_field_index(name)]


def _entries(maps: pa.MapArray) -> list[pa.Array]:
    """Return the keys and values of maps. Unlike ``keys`` and ``items``, exclude entries outside the array's slice."""
    entries = pa.StructArray.from_arrays([maps.keys, maps.items], ["key", "value"])
    return pa.ListArray.from_arrays(maps.offsets, entries).flatten().flatten()  # type: ignore[no-any-return]


def _require_same_values(found: pa.Array, made: pa.Array) -> None:
    if _counts(found.type, made.type) and found.null_count < len(found):
        raise ValueError(
            "the unit of the numbers is unknown; read the column as numbers, and convert it with the Sql transform"
        )
    try:
        if of.is_floating(found.type) and of.is_decimal(made.type):
            same = pc.equal(found.cast(pa.string()).cast(made.type), made)
        elif (back := _way_back(found.type, made.type)) is not None:
            same = pc.equal(back(made), found)
        else:
            return
    except pa.ArrowInvalid:
        raise ValueError("the value would change") from None
    if of.is_floating(found.type):
        same = pc.or_(same, pc.is_nan(found))
    if pc.all(same).as_py() is False:
        raise ValueError("the value would change")


def _counts(found: pa.DataType, made: pa.DataType) -> bool:
    """Return True if a cast requires a time unit: between integers and times, or from durations to other types."""
    if of.is_duration(found):
        return not (of.is_integer(made) or of.is_duration(made))
    return bool((of.is_integer(found) and of.is_temporal(made)) or (of.is_temporal(found) and of.is_integer(made)))


def _way_back(found: pa.DataType, made: pa.DataType) -> Callable[[pa.Array], pa.Array] | None:
    """Return the inverse of a cast; ``None`` if Arrow itself rejects values that would change."""
    if of.is_floating(made) and (of.is_float64(found) or of.is_decimal(found)):
        return lambda values: values.cast(pa.string()).cast(found)  # With the fewest digits that identify it.
    if of.is_timestamp(found) and of.is_time(made):
        return lambda values: values.cast(pa.time64("us")).view(pa.timestamp("us")).cast(found)
    if (of.is_timestamp(found) and of.is_date(made)) or (of.is_boolean(made) and not of.is_boolean(found)):
        return lambda values: values.cast(found)
    return None
