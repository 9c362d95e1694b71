"""Write modes: a sink adds rows to its target, replaces existing rows, or merges rows by key.

The older options ``data_save_mode`` and ``schema_save_mode`` apply before the first row and keep their meaning. A
contradicting write mode is rejected.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow.types as of
from attrs import evolve, frozen

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import SinkError, UsageError
from seatunnel_core.connector_api.option import BOOLEAN, ENUM, LIST, Option, Options
from seatunnel_core.connectors.column_options import require_columns
from seatunnel_core.rows.types import type_name

WRITE_MODE: Option[str] = Option(
    "write_mode",
    ENUM("append", "replace", "merge"),
    doc=(
        "append adds rows. replace replaces all existing rows with the rows of the run in one step, after the last row "
        "has arrived. merge replaces the row with the same key; a DELETE row deletes it."
    ),
)
PRUNING_MODE: Option[str] = evolve(
    WRITE_MODE,
    type=ENUM("append", "replace", "merge", "prune"),
    doc=WRITE_MODE.doc
    + " prune takes keys only, adds nothing, and after the last row deletes the target rows with other keys.",
)
MERGE_KEY: Option[tuple[str, ...]] = Option(
    "merge_key",
    LIST(),
    doc="With write_mode = merge: the key columns by which a row is matched. By default the primary key of the rows.",
)
REPLACE_PARTITIONS: Option[tuple[str, ...]] = Option(
    "replace_partitions",
    LIST(),
    doc="With write_mode = replace: partition columns, such as day. Only target rows whose values in these columns "
    "occur in this run are replaced.",
)
PARTITIONS_COMPLETE = Option(
    "partitions_arrive_complete",
    BOOLEAN,
    default=False,
    doc="With replace_partitions and a source with incremental: true to state that this run contains all rows of "
    "each partition that it writes to. Otherwise, the other rows of these partitions would be lost, so the job "
    "is rejected.",
)
KEEP_HISTORY = Option(
    "keep_history",
    BOOLEAN,
    default=False,
    doc="With write_mode = merge: a changed or deleted row stays as an ended version, and the new version is "
    "added (SCD 2). Nothing is written for unchanged rows.",
)
HISTORY_COLUMNS: Option[tuple[str, ...]] = Option(
    "history_columns",
    LIST(),
    doc="With keep_history: names of the three columns for the start and end of validity, and for the current "
    "version; by default valid_from, valid_to and is_current.",
)
MATCH_WHOLE_ROWS = Option(
    "match_whole_rows",
    BOOLEAN,
    default=False,
    doc=(
        "With write_mode = merge, for rows without a key: an update or delete applies to one row that is equal in all "
        "columns, and fails if no row is equal. Each commit with such changes reads the whole table."
    ),
)
DECIDING: tuple[Option[Any], ...] = (
    WRITE_MODE,
    MERGE_KEY,
    KEEP_HISTORY,
    HISTORY_COLUMNS,
    REPLACE_PARTITIONS,
    MATCH_WHOLE_ROWS,
)
"""Options that determine how rows are written, and thus the meaning of committables. A sink may lack some of them."""

_HISTORY = ("valid_from", "valid_to", "is_current")


@frozen(kw_only=True)
class WriteMode:
    """Handling of existing rows in the target."""

    name: str
    """``append``, ``replace``, ``merge`` or ``prune``."""

    key: tuple[str, ...] = ()
    """Columns of ``merge_key``; empty to use the key of the rows."""

    partitions: tuple[str, ...] = ()
    """Columns of ``replace_partitions``; empty to replace all rows."""

    history: tuple[str, ...] = ()
    """History columns: valid from, valid until, and is current; empty to keep only current versions."""

    whole_rows: bool = False
    """True if rows without a key are matched by all columns."""

    without_key: str = ""
    """Remedy for rows without a key, if the sink can match whole rows."""

    @property
    def appends(self) -> bool:
        """True if rows are only added."""
        return self.name == "append"

    @property
    def merges(self) -> bool:
        """True if a row replaces the existing row with the same key."""
        return self.name == "merge"

    @property
    def replaces(self) -> bool:
        """True if the rows of the run replace all existing rows once the last row has arrived."""
        return self.name == "replace"

    @property
    def prunes(self) -> bool:
        """True if incoming rows contain only keys. Rows with other keys are deleted once the last row has arrived."""
        return self.name == "prune"

    @property
    def collects(self) -> bool:
        """True if rows are collected and only change the target once the last row has arrived."""
        return self.replaces or self.prunes

    def key_of(self, schema: TableSchema) -> tuple[str, ...]:
        """Return the columns by which rows of a table are merged; empty for other modes."""
        if schema.root is not None:
            return ()
        return (self.key or schema.primary_key or schema.unique_key) if self.merges else ()

    def matches_whole_rows(self, schema: TableSchema) -> bool:
        """Return True if changes of a table apply to rows that are equal in all columns."""
        return self.whole_rows and schema.root is None and not self.key_of(schema)

    def check(self, schema: TableSchema, *, replaces_children: bool = False) -> None:
        """Raise SinkError if a table lacks a column of the key or of the partitions.

        ``replaces_children`` is True if the sink replaces child rows together with their parent rows.
        """
        require_columns(REPLACE_PARTITIONS.key, self.partitions, schema)
        if self.prunes:
            _require_single(WRITE_MODE.key, schema.columns.names, schema)
        if not self.merges:
            return
        if schema.root is not None:
            self._check_children(schema, replaces_children)
            return
        key = self.key_of(schema)
        if not key and self.whole_rows:
            return
        if not key:
            raise SinkError(
                f"option 'write_mode': the rows of {schema.table} have no key to merge them by; set merge_key = "
                f"[{schema.columns.names[0] if schema.columns.names else 'id'}], or the key columns{self.without_key}"
            )
        require_columns(MERGE_KEY.key, key, schema)
        _require_single(MERGE_KEY.key, key, schema)
        taken = {name.lower() for name in self.history}.intersection(map(str.lower, schema.columns.names))
        if taken:
            raise SinkError(
                f"option 'keep_history': the rows of {schema.table} already have a column {min(taken)!r}; set other "
                "names in history_columns, or rename the column before this sink"
            )

    def _check_children(self, schema: TableSchema, replaces: bool) -> None:
        if self.history:
            raise SinkError(
                f"option 'keep_history': the rows of {schema.table} are child rows of {schema.root}, and versions "
                "of child rows cannot be kept; set nesting = columns in the source, or remove keep_history"
            )
        if not replaces:
            raise SinkError(
                f"option 'write_mode': the rows of {schema.table} are child rows of {schema.root}, and this sink "
                "cannot replace child rows together with their parents; set nesting = columns in the source, or "
                "use DuckDB or Jdbc"
            )


def _require_single(option: str, names: Sequence[str], schema: TableSchema) -> None:
    """Raise SinkError for a column that cannot identify a row."""
    for name in names:
        kind = schema.columns.field(name).type
        if of.is_nested(kind) or of.is_null(kind):
            raise SinkError(
                f"option {option!r}: column {name!r} of {schema.table} is a {type_name(kind)}, which "
                "cannot identify a row; choose columns of simple types"
            )


def write_mode_of(options: Options, *, default: str = "append") -> WriteMode:
    """Return the write mode in the options of a sink. Raise UsageError if options contradict each other."""
    name = options[WRITE_MODE] or default
    if options.get(PARTITIONS_COMPLETE.key) and not options.get(REPLACE_PARTITIONS.key):
        raise UsageError("option 'partitions_arrive_complete': requires replace_partitions")
    wants = (
        (MERGE_KEY, "merge"),
        (KEEP_HISTORY, "merge"),
        (MATCH_WHOLE_ROWS, "merge"),
        (REPLACE_PARTITIONS, "replace"),
    )
    for option, wanted in wants:
        if options.get(option.key) and name != wanted:
            raise UsageError(
                f"option {option.key!r}: requires write_mode = {wanted}, found {name}; set "
                f"write_mode = {wanted}, or remove {option.key}"
            )
    if name in ("replace", "prune"):
        _refuse_early(options, name)
    for key in (MERGE_KEY.key, KEEP_HISTORY.key):
        if options.get(MATCH_WHOLE_ROWS.key) and options.get(key):
            raise UsageError(
                f"option 'match_whole_rows': cannot be combined with {key}, which requires a key; remove one of them"
            )
    knows_whole_rows = any(option.key == MATCH_WHOLE_ROWS.key for option in options.declared)
    return WriteMode(
        name=name,
        key=tuple(options.get(MERGE_KEY.key) or ()),
        partitions=tuple(options.get(REPLACE_PARTITIONS.key) or ()),
        history=_history(options),
        whole_rows=bool(options.get(MATCH_WHOLE_ROWS.key)),
        without_key="; or match_whole_rows = true" if knows_whole_rows else "",
    )


def _history(options: Options) -> tuple[str, ...]:
    """Return the names of the history columns; empty if history is not kept."""
    named = tuple(options.get(HISTORY_COLUMNS.key) or ())
    if not options.get(KEEP_HISTORY.key):
        if named:
            raise UsageError("option 'history_columns': requires keep_history = true")
        return ()
    if named and len({name.lower() for name in named}) != len(_HISTORY):
        raise UsageError(
            f"option 'history_columns': expected three different names, such as [{', '.join(_HISTORY)}], found "
            + ", ".join(named)
        )
    return named or _HISTORY


def _refuse_early(options: Options, mode: str) -> None:
    """Raise UsageError for save modes that act before the first row if the write mode acts after the last one."""
    early: dict[str, tuple[Any, ...]] = {
        "data_save_mode": ("DROP_DATA", "CUSTOM_PROCESSING", "ERROR_WHEN_DATA_EXISTS"),
        "schema_save_mode": ("RECREATE_SCHEMA",),
    }
    for key, acting in early.items():
        if options.get(key) in acting:
            raise UsageError(
                f"option {key!r}: {options[key]} acts before the first row, but write_mode = {mode} keeps existing "
                f"rows until the last one has arrived; remove {key} or write_mode"
            )
