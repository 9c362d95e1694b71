"""Batches of rows between source, transforms and sink in a task, and table schemas."""

from collections.abc import Callable, Mapping
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen

from seatunnel_core.rows.kind import RowKind


@frozen(kw_only=True)
class ConstraintKey:
    """A key of a table in addition to its primary key."""

    name: str
    kind: str
    """``KEY``, ``INDEX_KEY``, ``UNIQUE_KEY``, ``FOREIGN_KEY`` or ``VECTOR_INDEX_KEY``."""

    columns: tuple[str, ...]
    """Column names in the order of the key."""

    sort_types: tuple[str, ...] = ()
    """``ASC`` or ``DESC`` for each column; empty if all columns are ``ASC``."""


@frozen(kw_only=True)
class TableSchema:
    """Columns and identity of a table."""

    table: str
    """Path of the table, ``database.schema.table`` as far as known; ``"default"`` if the job does not name it."""

    columns: pa.Schema
    """Columns with Arrow types; see ``rows/types.py`` for SeaTunnel's names. The metadata of a field contains the
    declared ``comment``, ``length`` and ``default`` of its column as strings."""

    primary_key: tuple[str, ...] = ()
    """Columns of the primary key, in order; empty if there is no primary key."""

    primary_key_name: str | None = None
    """Name of the primary key; ``None`` if there is no key or its name is unknown."""

    constraint_keys: tuple[ConstraintKey, ...] = ()
    """Other keys, in the order of declaration. No sink enforces them."""

    comment: str | None = None
    """Comment on the table."""

    root: str | None = None
    """Parent table, if this table contains the elements of lists in its rows (a child table); otherwise ``None``."""

    @property
    def unique_key(self) -> tuple[str, ...]:
        """Columns of the first key of kind ``UNIQUE_KEY``; empty if there is no such key."""
        return next((key.columns for key in self.constraint_keys if key.kind == "UNIQUE_KEY"), ())


_DIGITS = 10
"""Number of digits of a row number. With a fixed number of digits, positions in a transaction sort as strings."""


@frozen(kw_only=True)
class OriginColumns:
    """Times and positions at which rows changed, keyed by column. All are null for rows read from a table."""

    times: pa.Int64Array = field(repr=False)
    commits: pa.Array = field(repr=False)
    """Log position of the transaction, as a string that sorts in log order."""

    numbers: pa.Int64Array = field(repr=False)
    """Number of the row among the rows of its table in the transaction, from 1."""


class Origins:
    """Times and positions of the changes of rows, computed on demand. All are null for rows read from a table."""

    def __init__(self, compute: Callable[[], OriginColumns]) -> None:
        """Create the origins from a function that returns a value for each row and is called on demand."""
        self._compute = compute

    @property
    def times(self) -> pa.Int64Array:
        """Time of the change at the source, in milliseconds since 1970."""
        return self._columns.times

    def positions(self) -> pa.StringArray:
        """Return the position of each row: its transaction's position and its zero-padded number in the transaction."""
        numbers = pc.utf8_lpad(self._columns.numbers.cast(pa.string()), _DIGITS, "0")
        return pc.binary_join_element_wise(self._columns.commits.cast(pa.string()), numbers, ":")

    def filter(self, mask: pa.BooleanArray) -> "Origins":
        """Return the origins of the rows for which the mask is true."""
        return self._with(lambda values: values.filter(mask))

    def slice(self, start: int, length: int | None) -> "Origins":
        """Return the origins of consecutive rows, or of all rows from ``start`` if ``length`` is ``None``."""
        return self._with(lambda values: values.slice(start, length))

    @cached_property
    def _columns(self) -> OriginColumns:
        return self._compute()

    def _with(self, change: Callable[[pa.Array], pa.Array]) -> "Origins":
        def compute() -> OriginColumns:
            found = self._columns
            return OriginColumns(
                times=change(found.times), commits=change(found.commits), numbers=change(found.numbers)
            )

        return Origins(compute)


def unlogged(rows: int) -> Origins:
    """Return the origins of rows read from a table instead of a log."""

    def compute() -> OriginColumns:
        numbers = pa.nulls(rows, pa.int64())
        return OriginColumns(times=numbers, commits=pa.nulls(rows, pa.string()), numbers=numbers)

    return Origins(compute)


@frozen(kw_only=True)
class Batch:
    """Consecutive rows of one table."""

    table: str
    """Identity of the table, equal to ``TableSchema.table`` of the rows' schema."""

    rows: pa.RecordBatch = field(repr=False)
    """Rows, with the schema ``TableSchema.columns`` of the table."""

    kinds: pa.Int8Array | None = field(default=None, repr=False)
    """``RowKind`` of each row; ``None`` if all rows are ``INSERT``."""

    absent: Mapping[str, pa.BooleanArray] = field(factory=dict, repr=False)
    """Masks of absent values by column name. A value is absent if a change does not contain it, such as an unchanged
    TOAST value of PostgreSQL or a column outside of a partial row image. The mask is True there and has no nulls; the
    row has null there, and the target must keep its value. Columns without absent values are omitted, so this is
    usually empty. Only transforms and sinks with ``keeps_absent`` receive such rows. An ``UPDATE_BEFORE`` must be
    directly followed by the ``UPDATE_AFTER`` of the same row: if the key differs, a sink takes the absent values from
    the old row. A source that emits only the old row emits it as ``DELETE``.
    """

    origins: Origins | None = field(default=None, repr=False)
    """Time and position of the change of each row; ``None`` if the source does not provide them, or a transform has
    replaced the rows."""

    left_out: int = 0
    """Number of bad rows that a transform has skipped, because of ``row_error_handle_way = SKIP``."""

    @property
    def inserts_only(self) -> bool:
        """True if all rows are ``INSERT``."""
        return self.kinds is None or all(kind == RowKind.INSERT for kind in self.kinds.unique().to_pylist())
