"""The unit in which rows travel between source, transforms and sink inside one task."""

import pyarrow as pa
from attrs import field, frozen

from seatunnel_core.rows.kind import RowKind


@frozen(kw_only=True)
class ConstraintKey:
    """A key of a table beside its primary key."""

    name: str
    kind: str
    """``KEY``, ``INDEX_KEY``, ``UNIQUE_KEY``, ``FOREIGN_KEY`` or ``VECTOR_INDEX_KEY``."""

    columns: tuple[str, ...]
    """Names, in the order of the key."""

    sort_types: tuple[str, ...] = ()
    """``ASC`` or ``DESC`` of each column; empty when all are ``ASC``."""


@frozen(kw_only=True)
class TableSchema:
    """The columns of one table and its identity."""

    table: str
    """The table's path, ``database.schema.table`` as far as known; ``"default"`` when a job names none."""

    columns: pa.Schema
    """Arrow types; see ``rows/types.py`` for the SeaTunnel names of each. The metadata of a field has, as
    texts and where they are declared, the ``comment``, the ``length`` and the ``default`` of its column."""

    primary_key: tuple[str, ...] = ()
    """Names of the columns of the primary key, in its order; empty when there is none."""

    primary_key_name: str | None = None
    """The name of the primary key; ``None`` when there is no key, or its name is not known."""

    constraint_keys: tuple[ConstraintKey, ...] = ()
    """The other keys, in the order in which they are declared. No sink enforces them."""

    comment: str | None = None
    """What is said about the table, for people."""

    root: str | None = None
    """The table whose rows contain these as elements of their lists; ``None`` for rows of their own."""

    @property
    def unique_key(self) -> tuple[str, ...]:
        """Return the columns of the first key of kind ``UNIQUE_KEY``; empty when there is none."""
        return next((key.columns for key in self.constraint_keys if key.kind == "UNIQUE_KEY"), ())


@frozen(kw_only=True)
class Batch:
    """Some consecutive rows of one table."""

    table: str
    """The identity of the table, equal to ``TableSchema.table`` of the schema that the rows follow."""

    rows: pa.RecordBatch = field(repr=False)
    """The rows; the schema equals ``TableSchema.columns`` of the table."""

    kinds: pa.Int8Array | None = field(default=None, repr=False)
    """``RowKind`` of each row, as many as there are rows; ``None`` says that all are ``INSERT``."""

    left_out: int = 0
    """How many bad rows a transform has left out of it, as ``row_error_handle_way = SKIP`` says: the task counts them
    among those that were skipped, and hands the batch on without them."""

    @property
    def inserts_only(self) -> bool:
        """Return whether all rows are ``INSERT``."""
        return self.kinds is None or all(kind == RowKind.INSERT for kind in self.kinds.unique().to_pylist())
