"""Changes of rows without a key: each change applies to one row of the table that is equal in all columns.

Equal rows are interchangeable, so only their number counts. The number of equal rows after a unit is their number
before it, plus the inserted and minus the deleted ones; an update deletes one row and inserts one.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import field, frozen

from seatunnel_core.connector_api.batch import Batch, RowKind, TableSchema
from seatunnel_core.connector_api.errors import CommitError, RowError, SinkError
from seatunnel_core.connectors.tables.database import TableColumn, TableDatabase
from seatunnel_core.connectors.tables.messages import key_text, would_reset
from seatunnel_core.connectors.tables.sql_database import KIND, NUMBER
from seatunnel_core.rows.nesting import ROW_ID

_FOUND = 9
"""Row kind of the copied table rows that equal a deleted or updated row."""

_SHOWN = 5
"""Maximum number of columns in a message."""

_IMAGE = "seatunnel_image"


def require_matchable(
    named: str, schema: TableSchema, table: Sequence[TableColumn], written: Sequence[str], keys: Sequence[Sequence[str]]
) -> None:
    """Raise ``SinkError`` if whole rows cannot be matched in an existing table, because of its key or its columns.

    ``written`` are the columns of the table that the rows have; ``keys`` are the columns of each unique key of the
    table.
    """
    option = "option 'match_whole_rows'"
    if ROW_ID in schema.columns.names:
        raise SinkError(
            f"{option}: the rows of {schema.table} have child tables, and child tables require a key; set "
            "merge_key, or nesting = columns in the source"
        )
    if keys:
        raise SinkError(
            f"{option}: the rows of {schema.table} have no key, but the table {named} has the key "
            f"({', '.join(keys[0])}), so it cannot store equal rows; set merge_key = [{', '.join(keys[0])}] instead, "
            "or drop the key"
        )
    if lost := _missing_columns(table, written):
        raise SinkError(
            f"{option}: the table {named} has the column {lost[0]!r}, which the rows of {schema.table} lack, so an "
            "update would reset it; drop the column, or set merge_key"
        )


def matched_columns(table: Sequence[TableColumn], staged: Sequence[str], who: str, named: str) -> list[TableColumn]:
    """Return the columns of a table that the staged rows have; raise ``CommitError`` if the columns do not match."""
    known = {column.name: column for column in table}
    for name in staged:
        if name not in known:
            raise CommitError(
                f"{who}: rows were staged with the column {name!r}, which the table {named} no longer has. Nothing was "
                "written: add the column, and resume the job"
            )
    if lost := _missing_columns(table, staged):
        raise CommitError(would_reset(who, named, lost[0]))
    return [known[name] for name in staged]


def _missing_columns(table: Sequence[TableColumn], names: Sequence[str]) -> list[str]:
    """Return the columns of a table, except computed ones, that the rows lack; an update would reset them."""
    return [column.name for column in table if not column.generated and column.name not in names]


def ends_before_update(batch: Batch, who: str, *, is_open: bool) -> bool:
    """Return True if a batch ends with the old row of an update; raise ``RowError`` if an updated row has no old row.

    ``is_open`` is True if the previous batch of the table ended with the old row of an update.
    """
    if batch.kinds is None:
        return False if batch.rows.num_rows else is_open
    kinds = batch.kinds.to_numpy(zero_copy_only=False)
    if not len(kinds):
        return is_open
    before = np.concatenate([[RowKind.UPDATE_BEFORE if is_open else RowKind.INSERT], kinds[:-1]])
    if ((kinds == RowKind.UPDATE_AFTER) & (before != RowKind.UPDATE_BEFORE)).any():
        raise RowError(
            f"{who}: {batch.table} has an updated row without the row before the update, which match_whole_rows "
            "requires; do not remove such rows before this sink, or set merge_key"
        )
    return bool(kinds[-1] == RowKind.UPDATE_BEFORE)


@frozen(kw_only=True)
class WholeRows:
    """Statements that apply staged changes to a table, in the transaction of ``connection``."""

    database: TableDatabase
    connection: Any = field(repr=False)
    who: str
    """Pipeline and sink, for messages."""

    named: str
    """Name of the table, for messages."""

    table: str
    """The quoted table."""

    staged: str
    """Quoted table of the staged rows, with ``KIND`` and ``NUMBER``. Equal rows of the target are added to it."""

    columns: Sequence[TableColumn] = field(repr=False)
    """Columns of the table that the rows have; the staged rows have the same types."""

    def apply(self) -> None:
        """Apply all changes.

        Raises:
            CommitError: A deleted or updated row has no equal row, or another client changed the table in the meantime.
        """
        for statement in self.database.exact_texts:
            self.database.run(self.connection, statement)
        self.database.run(self.connection, self._copy())
        for row in self.database.ask(self.connection, self._unmatched()):
            names = [column.name for column in self.columns]
            shown = key_text(names[:_SHOWN], row[:_SHOWN])[:300] + (", …" if len(names) > _SHOWN else "")
            raise CommitError(
                f"{self.who}: a row was updated or deleted at the source, but {self.named} has no equal row "
                f"({shown}). Nothing was written: the table was changed by another client, or the written rows "
                "depend on more than the source's row, such as the current time. Restore the rows, or start a new "
                "job with an empty table"
            )
        ((expected,),) = self.database.ask(
            self.connection,
            f"SELECT count(*) FROM ({self._ranked()}) AS seatunnel_ranked "
            f"WHERE {KIND} = {_FOUND} AND seatunnel_net < 0",
        )
        if self.database.changed_rows(self.connection, self._delete()) != expected:
            error = CommitError(f"{self.who}: another client changed {self.named} during the commit")
            error.retryable = True
            raise error
        self.database.run(self.connection, self._insert())

    def _names(self, of: str = "") -> str:
        before = f"{of}." if of else ""
        return ", ".join(before + self.database.quoted(column.name) for column in self.columns)

    def _images(self) -> str:
        """Return a SELECT of the staged rows with their images, and with 1 for an added and -1 for a removed row."""
        image = self.database.row_image(self.columns, self.staged)
        change = f"CASE WHEN {KIND} IN (0, 2) THEN 1 WHEN {KIND} IN (1, 3) THEN -1 ELSE 0 END"
        return (
            f"SELECT {self._names(self.staged)}, {KIND}, {NUMBER}, {change} AS seatunnel_change, {image} AS {_IMAGE} "
            f"FROM {self.staged}"
        )

    def _ranked(self) -> str:
        """Return a SELECT with the net change of equal rows, numbering equal rows with the same change."""
        return (
            f"SELECT {self._names()}, {KIND}, sum(seatunnel_change) OVER (PARTITION BY {_IMAGE}) AS seatunnel_net, "
            f"row_number() OVER (PARTITION BY {_IMAGE}, seatunnel_change ORDER BY {NUMBER}) AS seatunnel_copy "
            f"FROM ({self._images()}) AS seatunnel_images"
        )

    def _copy(self) -> str:
        """Return the statement that adds the table's rows that equal an updated or deleted row to the staged rows."""
        image = self.database.row_image(self.columns, self.staged)
        select = f"SELECT DISTINCT {image} AS {_IMAGE} FROM {self.staged} WHERE {KIND} IN (1, 3)"
        found = self._matching(select)
        names = f"{self._names()}, {KIND}, {NUMBER}"
        return f"{self.database.insert(self.staged, names)} SELECT {self._names(self.table)}, {_FOUND}, -1 {found}"

    def _unmatched(self) -> str:
        """Return a query for the first updated or deleted row that has no equal row left to match."""
        counts = (
            f"SELECT {self._names()}, {NUMBER}, sum(seatunnel_change) OVER (PARTITION BY {_IMAGE} ORDER BY {NUMBER} "
            f"ROWS UNBOUNDED PRECEDING) + sum(CASE WHEN {KIND} = {_FOUND} THEN 1 ELSE 0 END) OVER (PARTITION BY "
            f"{_IMAGE}) AS seatunnel_left FROM ({self._images()}) AS seatunnel_images"
        )
        first = f"WHERE seatunnel_left < 0 ORDER BY {NUMBER} LIMIT 1"
        return f"SELECT {self._names()} FROM ({counts}) AS seatunnel_counts {first}"

    def _delete(self) -> str:
        """Return the statement that deletes all copies of each row with a negative net change."""
        select = (
            f"SELECT {_IMAGE} FROM ({self._images()}) AS seatunnel_images GROUP BY {_IMAGE} "
            "HAVING sum(seatunnel_change) < 0"
        )
        return f"{self.database.delete_matching(self.table)} {self._matching(select)}"

    def _insert(self) -> str:
        """Return the statement that inserts new rows, and the remaining copies of rows that ``_delete`` deletes."""
        remains = f"{KIND} = {_FOUND} AND seatunnel_net < 0 AND seatunnel_copy > -seatunnel_net"
        added = f"{KIND} IN (0, 2) AND seatunnel_copy <= seatunnel_net"
        names = self._names()
        return (
            f"{self.database.insert(self.table, names)} SELECT {names} FROM ({self._ranked()}) AS seatunnel_ranked "
            f"WHERE ({remains}) OR ({added})"
        )

    def _matching(self, select: str) -> str:
        image = self.database.row_image(self.columns, self.table)
        return self.database.matching(self.table, image, select, _IMAGE)
