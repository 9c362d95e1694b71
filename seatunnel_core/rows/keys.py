"""Keys of a ``schema`` block: ``primaryKey { … }`` and ``constraintKeys [ … ]``."""

from collections.abc import Mapping, Sequence
from typing import Any

from seatunnel_core.config.option import LIST, STRING
from seatunnel_core.rows.batch import ConstraintKey

_PRIMARY_KEY = "schema.primaryKey must be a block { name = pk, columnNames = [id] }"
_CONSTRAINT_KEY = (
    '{ constraintName = "id_index", constraintType = UNIQUE_KEY, constraintColumns = [{ columnName = id }] }'
)
_CONSTRAINT_TYPES = ("KEY", "INDEX_KEY", "UNIQUE_KEY", "FOREIGN_KEY", "VECTOR_INDEX_KEY")


def primary_key(block: Any, names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the columns of the key in ``primaryKey``, if any. Raise ValueError for a column not in ``names``."""
    if not block:
        return ()
    if not isinstance(block, Mapping):
        raise ValueError(_PRIMARY_KEY)
    columns = LIST(STRING).parse(block.get("columnNames") or block.get("columns") or ())
    if not columns:
        raise ValueError(f"schema.primaryKey contains no column; {_PRIMARY_KEY}")
    _check_columns("the primary key", columns, names)
    return columns


def primary_key_name(block: Any) -> str | None:
    """Return the name of the primary key in ``primaryKey``, or ``None`` if it has no name."""
    name = block.get("name") if isinstance(block, Mapping) else None
    return None if name is None else str(name)


def constraint_keys(keys: Any, names: Sequence[str] | None) -> tuple[ConstraintKey, ...]:
    """Return the keys of ``constraintKeys``. Raise ValueError for a column that is not in ``names``."""
    if not keys:
        return ()
    if not isinstance(keys, list | tuple):
        raise ValueError(f"schema.constraintKeys must be a list [{_CONSTRAINT_KEY}]")
    found = []
    for position, key in enumerate(keys, 1):
        if not isinstance(key, Mapping) or not key.get("constraintName") or not key.get("constraintColumns"):
            raise ValueError(
                f"key {position} of schema.constraintKeys needs a name and columns, such as {_CONSTRAINT_KEY}"
            )
        found.append(_constraint_key(f"the constraint key {key['constraintName']!r}", key, names))
    return tuple(found)


def _constraint_key(what: str, key: Mapping[str, Any], names: Sequence[str] | None) -> ConstraintKey:
    kind = str(key.get("constraintType") or "KEY").upper()
    if kind not in _CONSTRAINT_TYPES:
        raise ValueError(f"{what}: constraintType must be one of {', '.join(_CONSTRAINT_TYPES)}, found {kind}")
    written = key["constraintColumns"]
    columns = written if isinstance(written, list | tuple) else [written]
    for column in columns:
        if not isinstance(column, Mapping) or not column.get("columnName"):
            raise ValueError(
                f"{what}: each entry of constraintColumns must be written {{ columnName = id }}, found {column!r}"
            )
        if str(column.get("sortType") or "ASC").upper() not in ("ASC", "DESC"):
            raise ValueError(f"{what}: sortType must be ASC or DESC, found {column['sortType']!r}")
    named = tuple(str(column["columnName"]) for column in columns)
    _check_columns(what, named, names)
    sorts = tuple(str(column.get("sortType") or "ASC").upper() for column in columns)
    sorts = sorts if "DESC" in sorts else ()
    return ConstraintKey(name=str(key["constraintName"]), kind=kind, columns=named, sort_types=sorts)


def _check_columns(what: str, columns: Sequence[str], names: Sequence[str] | None) -> None:
    unknown = [] if names is None else [name for name in columns if name not in names]
    if unknown:
        raise ValueError(f"{what} contains {unknown}, which are not columns of the table: {names}")
    if len(set(columns)) < len(columns):
        raise ValueError(f"{what} contains a column more than once: {list(columns)}")
