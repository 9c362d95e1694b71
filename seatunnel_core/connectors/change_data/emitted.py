"""Changed rows from a log as batches of a source."""

from collections.abc import Collection, Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import frozen

from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import RowError, SourceError
from seatunnel_core.connector_api.source import ReadContext
from seatunnel_core.connectors.jdbc.fetched import Misfit
from seatunnel_core.rows.batch import Origins
from seatunnel_core.rows.kind import RowKind

Flags = npt.NDArray[np.bool_]

_OLD = (RowKind.UPDATE_BEFORE, RowKind.DELETE)


def both(one: Flags | None, other: Flags | None) -> Flags | None:
    """Combine two masks with a logical AND. ``None`` means that all values are true."""
    if one is None or other is None:
        return other if one is None else one
    joined: Flags = one & other
    return joined


class Changes(Protocol):
    """Changed rows of a table, as decoded from a log."""

    @property
    def rows(self) -> pa.RecordBatch:
        """Rows in log order. Absent values are null."""

    @property
    def kinds(self) -> npt.NDArray[np.int8]:
        """``RowKind`` of each row, as a number. A logged ``UPDATE_BEFORE`` directly precedes its ``UPDATE_AFTER``."""

    @property
    def misfits(self) -> Mapping[int, Misfit]:
        """Unrepresentable values by row index."""

    @property
    def complete(self) -> bool:
        """True if no row has an absent value."""

    def arrived(self, column: int) -> Flags:
        """Return a mask that is False for rows without a value of the column."""


@frozen(kw_only=True, eq=False)
class EmittedRows:
    """Rows to emit."""

    batch: Batch
    numbers: npt.NDArray[np.int64]
    """Index of each emitted row among the changed rows."""


def emitted(
    changes: Changes,
    keep: Flags | None,
    schema: TableSchema,
    context: ReadContext,
    where: str,
    remedy: str,
    origins: Origins | None = None,
    masked: Collection[str] = (),
) -> EmittedRows | None:
    """Return the rows to emit; ``None`` if there are none.

    If a chunk already contains one row of an update, only the other one is kept: the row before the update becomes a
    deletion, or the row after it becomes an insertion.

    Args:
        changes: The rows, with the columns of the schema.
        keep: Mask of the rows to emit; ``None`` for all.
        schema: Schema of the table.
        context: Determines whether rows with unrepresentable values are skipped.
        where: Position in the log, for messages.
        remedy: Instruction that makes the log contain all columns of changed rows.
        origins: Time and position of each row.
        masked: Columns with values that messages must not show.

    Raises:
        RowError: A value of a new row, of a key, or of a row without a key cannot be represented, and the job does not
            skip rows with errors.
        SourceError: A value of an inserted row, of a key, or of a row without a key is absent.
    """
    kinds = changes.kinds
    if changes.misfits:
        keep = _without_misfits(changes, keep, schema, context, where, masked)
    if keep is not None and not keep.all():
        if not keep.any():
            return None
        kinds = with_lone_rows(kinds, keep)
    absent = _absent(changes, kinds, keep, schema, where, remedy)
    rows = changes.rows
    if keep is not None and not keep.all():
        rows, kinds = rows.filter(pa.array(keep)), kinds[keep]
        absent = {name: mask[keep] for name, mask in absent.items()}
        origins = None if origins is None else origins.filter(pa.array(keep))
    if not rows.num_rows:
        return None
    inserts = bool((kinds == RowKind.INSERT).all())
    batch = Batch(
        table=schema.table,
        rows=rows,
        kinds=None if inserts else pa.array(kinds, pa.int8()),
        absent={name: pa.array(mask) for name, mask in absent.items()},
        origins=origins,
    )
    numbers = np.arange(len(changes.kinds)) if keep is None else np.flatnonzero(keep)
    return EmittedRows(batch=batch, numbers=numbers)


def _pairs(kinds: npt.NDArray[np.int8]) -> npt.NDArray[np.int64]:
    """Return the indexes of the ``UPDATE_BEFORE`` rows that are directly followed by an ``UPDATE_AFTER`` row."""
    both = (kinds[:-1] == RowKind.UPDATE_BEFORE) & (kinds[1:] == RowKind.UPDATE_AFTER)
    return np.flatnonzero(both)


def with_lone_rows(kinds: npt.NDArray[np.int8], keep: Flags) -> npt.NDArray[np.int8]:
    """Return the row kinds. If only one row of an update is kept, its kind becomes a deletion or an insertion."""
    before = _pairs(kinds)
    kinds = kinds.copy()
    kinds[before[keep[before] & ~keep[before + 1]]] = RowKind.DELETE
    kinds[before[~keep[before] & keep[before + 1]] + 1] = RowKind.INSERT
    return kinds


def _without_misfits(
    changes: Changes,
    keep: Flags | None,
    schema: TableSchema,
    context: ReadContext,
    where: str,
    masked: Collection[str],
) -> Flags:
    """Remove rows with unrepresentable values from the mask.

    If the table has a key, only the key of an old row must be representable; other values of it are not applied. If a
    new row is removed, the target keeps the old row, unless the update has changed the key.
    """
    kept = np.ones(len(changes.kinds), np.bool_) if keep is None else keep.copy()
    key, before = schema.primary_key, {int(index) + 1: int(index) for index in _pairs(changes.kinds)}
    for number, found in sorted(changes.misfits.items()):
        is_applied = not key or changes.kinds[number] not in _OLD or not found.reasons.keys().isdisjoint(key)
        if kept[number] and is_applied:
            shown = ", ".join(f"{name} = {changes.rows.column(name)[number].as_py()}" for name in key)
            row = f"row with {shown}" if shown else "row without a key"
            context.skip(RowError(f"table {schema.table}, {where}, {row}, {found.hiding(masked)}"))
            kept[number] = False
            if key and number in before and not _has_new_key(changes, schema, number):
                kept[before[number]] = False
    return kept


def _has_new_key(changes: Changes, schema: TableSchema, after: int) -> bool:
    """Return True if an update has changed the key. A value that the log does not contain is unchanged.

    ``after`` is the index of the new row, which directly follows the old one.
    """
    numbers = (schema.columns.get_field_index(name) for name in schema.primary_key)
    columns = (changes.rows.column(number) for number in numbers if changes.arrived(number)[after])
    return any(column[after - 1] != column[after] for column in columns)


def _absent(
    changes: Changes, kinds: npt.NDArray[np.int8], keep: Flags | None, schema: TableSchema, where: str, remedy: str
) -> dict[str, Flags]:
    """Return masks of the absent values in new rows, by column.

    Old rows only need the values of the key. If the table has no key, all rows need all values.
    """
    found: dict[str, Flags] = {}
    if changes.complete:
        return found
    updated, inserted = kinds == RowKind.UPDATE_AFTER, kinds == RowKind.INSERT
    for number, name in enumerate(schema.columns.names):
        missing = ~changes.arrived(number)
        if keep is not None:
            missing &= keep
        is_whole = not schema.primary_key or name in schema.primary_key
        needed = missing if is_whole else missing & inserted
        if needed.any():
            raise SourceError(
                f"table {schema.table}, {where}: the log does not contain the value of the column {name!r} of a "
                f"changed row; {remedy}"
            )
        if (missing & updated).any():
            found[name] = missing & updated
    return found
