"""Access to parts of rows, maps and arrays."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_core.rows.types import type_name
from seatunnel_core.transforms.sql.casts import cast
from seatunnel_core.transforms.sql.engine_function import EngineFunctions, by_row
from seatunnel_core.transforms.sql.value import BIGINT, SqlError, Value, is_list


def part(functions: EngineFunctions, value: Value, key: Value, what: str) -> Value:
    """Compile access to a field of a row, a key of a map, or a 0-based element of an array; null if missing."""
    if pa.types.is_struct(value.type):
        return _field(functions, value, key, what)
    if pa.types.is_map(value.type):
        return _looked_up(functions, value, key, what)
    if is_list(value.type):
        return _element(functions, value, key, what)
    raise SqlError(f"Sql: {what}: {type_name(value.type)} has no fields; only rows, maps and arrays have fields")


def _field(functions: EngineFunctions, value: Value, key: Value, what: str) -> Value:
    names = [each.name for each in value.type]
    name = key.constant.as_py() if key.constant is not None else None
    if name not in names:
        raise SqlError(f"Sql: {what}: the row has no field {name}; it has {', '.join(names)}")
    # DataFusion's own access returns 0 or an empty string for a field of a null row.
    kind = value.type.field(name).type
    return functions.call(what, lambda rows: pc.struct_field(rows, name), [value], kind, fails=False)


def _looked_up(functions: EngineFunctions, value: Value, key: Value, what: str) -> Value:
    key = cast(functions, key, value.type.key_type, what)
    kind = value.type.item_type
    if key.constant is not None:
        wanted = key.constant
        return functions.call(what, lambda maps: pc.map_lookup(maps, wanted, "first"), [value], kind, fails=False)

    def found(entries: Any, wanted: Any) -> Any:
        return next((item for known, item in entries if known == wanted), None)

    return functions.call(what, by_row(found, kind), (value, key), kind, fails=False)


def _element(functions: EngineFunctions, value: Value, key: Value, what: str) -> Value:
    key = cast(functions, key, BIGINT, what)
    kind = value.type.value_type

    def element(lists: Any, at: Any) -> Any:
        if isinstance(at, pa.Array):
            return by_row(lambda items, one: items[one] if 0 <= one < len(items) else None, kind)(lists, at)
        wanted = at.as_py()
        if wanted is None or wanted < 0:
            return pa.nulls(len(lists), kind)
        long = pc.fill_null(pc.greater(pc.list_value_length(lists), wanted), False)
        return pc.list_element(pc.if_else(long, lists, pa.scalar(None, lists.type)), wanted)

    return functions.call(what, element, (value, key), kind, fails=False)
