"""Batches of rows between source, transforms and sink in a task, and table schemas."""

from collections.abc import Mapping

import pyarrow as pa
from attrs import field, frozen

from seatunnel_core.rows.kind import RowKind


@frozen(kw_only=True)
class ConstraintKey:
    """A key of a table other than its primary key."""

    name: str
    kind: str
    """``KEY``, ``INDEX_KEY``, ``UNIQUE_KEY``, ``FOREIGN_KEY`` or ``VECTOR_INDEX_KEY``."""

    columns: tuple[str, ...]
    """Column names in the order of the key."""

    sort_types: tuple[str, ...] = ()
    """``ASC`` or ``DESC`` for each column; empty if all are ``ASC``."""


@frozen(kw_only=True)
class TableSchema:
    """Columns and identity of a table."""

    table: str
    """Path of the table, ``database.schema.table`` as far as known; ``"default"`` if the job does not name the
    table."""

    columns: pa.Schema
    """Columns with Arrow types; see ``rows/types.py`` for SeaTunnel's names. The metadata of a field contains the
    declared ``comment``, ``length`` and ``default`` of its column as strings."""

    primary_key: tuple[str, ...] = ()
    """Columns of the primary key, in order; empty without a primary key."""

    primary_key_name: str | None = None
    """Name of the primary key; ``None`` if there is no key or its name is unknown."""

    constraint_keys: tuple[ConstraintKey, ...] = ()
    """Other keys, in the order of declaration. No sink enforces them."""

    comment: str | None = None
    """Comment on the table."""

    root: str | None = None
    """Parent table of a child table, whose rows are elements of lists in the parent's rows; otherwise ``None``."""

    @property
    def unique_key(self) -> tuple[str, ...]:
        """Return the columns of the first key of kind ``UNIQUE_KEY``; empty if there is no such key."""
        return next((key.columns for key in self.constraint_keys if key.kind == "UNIQUE_KEY"), ())


@frozen(kw_only=True)
class Batch:
    """Consecutive rows of one table."""

    table: str
    """Identity of the table, equal to ``TableSchema.table`` of the rows' schema."""

    rows: pa.RecordBatch = field(repr=False)
    """Rows, with the schema ``TableSchema.columns`` of the table."""

    kinds: pa.Int8Array | None = field(default=None, repr=False)
    """``RowKind`` of each row; ``None`` if all are ``INSERT``."""

    absent: Mapping[str, pa.BooleanArray] = field(factory=dict, repr=False)
    """Mask by name of each column with absent values, which a change does not contain, such as an unchanged TOAST value
    of PostgreSQL or a column outside of a partial row image: True where the value is absent. The row has null there,
    and the target must keep its value. The mask has no nulls. Columns without absent values are left out, so this is
    usually empty.

    A transform or a sink with ``keeps_absent`` handles such rows; others do not receive them (``rows.columns``). An
    ``UPDATE_BEFORE`` must be directly followed by the ``UPDATE_AFTER`` of the same row: if the key differs, a sink
    takes the unknown values from the old row. A source that emits only the old row emits it as ``DELETE``."""

    left_out: int = 0
    """Number of bad rows that a transform has skipped, according to ``row_error_handle_way = SKIP``; the task counts
    them as skipped and forwards the batch."""

    @property
    def inserts_only(self) -> bool:
        """Return True if all rows are ``INSERT``."""
        return self.kinds is None or all(kind == RowKind.INSERT for kind in self.kinds.unique().to_pylist())
