"""Handling of the ``defaultValue`` of columns, and the placeholder for the current time when a job runs."""

import enum
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from seatunnel_core.rows.schema_block import Column
from seatunnel_core.rows.values import plain


class Moment(enum.Enum):
    """A value that is known only at run time."""

    NOW = "now"


def default_values(columns: Sequence[Column]) -> dict[str, Any]:
    """Return the default values of columns by name. Raise ValueError if a value does not match its column's type."""
    found = {}
    for column in columns:
        if column.default is not None:
            bare = isinstance(column.default, str) and pa.types.is_binary(column.field.type)
            written = column.default.encode() if bare else column.default
            try:
                found[column.field.name] = written_value(written, column.field.type)
            except ValueError as error:
                raise ValueError(f"column {column.field.name!r}: defaultValue {error}") from None
    return found


def written_value(written: Any, kind: pa.DataType) -> Any:
    """Convert a default value for Arrow, or ``CURRENT_DATE`` and the like to ``Moment.NOW``, or raise ValueError."""
    current = {pa.date32(): "CURRENT_DATE", pa.time64("us"): "CURRENT_TIME"}.get(
        kind, "CURRENT_TIMESTAMP" if pa.types.is_timestamp(kind) else None
    )
    if current and isinstance(written, str) and written.strip().upper() == current:
        return Moment.NOW
    return plain(written, kind)
