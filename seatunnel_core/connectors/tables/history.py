"""Row history (``keep_history``): a commit ends the current version of a changed row, and adds the new one."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.types as of
from attrs import field, frozen

from seatunnel_core.connector_api.errors import SinkError
from seatunnel_core.connectors.tables.database import TableColumn, TableDatabase
from seatunnel_core.connectors.tables.sql_database import KIND
from seatunnel_core.connectors.tables.table_path import TablePath


def history_columns(database: TableDatabase, names: Sequence[str]) -> list[pa.Field]:
    """Return the history columns of a new table, with times in UTC; raise ``SinkError`` if a type is missing."""
    for moment in (pa.timestamp("us", "UTC"), pa.timestamp("us")):
        try:
            kinds = [database.stored_type(kind) for kind in (moment, moment, pa.bool_())]
            for kind in kinds:
                database.declared_type(kind)
        except TypeError as error:
            missing = error
        else:
            return list(map(pa.field, names, kinds))
    raise SinkError(f"{database.name} has no type for {missing}, which keep_history requires; remove keep_history")


def require_history(
    database: TableDatabase,
    connection: Any,
    path: TablePath,
    columns: Sequence[TableColumn],
    *,
    written: Collection[str],
    history: Sequence[str],
    unique: Sequence[Sequence[str]],
) -> None:
    """Raise ``SinkError`` if a table cannot keep history; the message contains the column.

    The table may lack a history column, require a column that new versions lack, or have a unique index on the key.
    ``written`` are the columns that the rows have; ``unique`` are the columns of each unique index.
    """
    named = database.table_name(path)
    fold = str.lower if database.ignores_case else str
    by_name = {fold(column.name): column for column in columns}
    for wanted in history_columns(database, history):
        column, is_flag = by_name.get(fold(wanted.name)), of.is_boolean(wanted.type)
        if column is None or not (database.keeps_flag(column.arrow) if is_flag else _is_moment(column.arrow)):
            have = "has none" if column is None else f"has {column.declared}"
            raise SinkError(
                f"keep_history requires a column {wanted.name!r} of the type {database.declared_type(wanted.type)}, "
                f"but the table {named} {have}; add it and fill it for the existing rows ({history[2]} with true), or "
                "choose a new table"
            )
    for key in unique:
        if fold(history[0]) not in map(fold, key):
            raise SinkError(
                f"the table {named} has a unique key of {', '.join(key)}, but keep_history adds rows with the same "
                "values; create the table again without this key, or choose a new table"
            )
    kept = {fold(name) for name in (*history, *written)}
    for column in columns:
        if fold(column.name) not in kept and not column.generated:
            raise SinkError(
                f"the table {named} has a column {column.name!r}, which the rows lack, so new versions would lose its "
                "values; remove keep_history, or add that column to the rows"
            )
    _require_current(database, connection, path, history[2])


def _require_current(database: TableDatabase, connection: Any, path: TablePath, flag: str) -> None:
    """Raise ``SinkError`` if the table has rows for which it is unknown whether they are current versions."""
    if database.ask(
        connection, f"SELECT 1 FROM {database.quoted(*path)} WHERE {database.quoted(flag)} IS NULL LIMIT 1"
    ):
        raise SinkError(
            f"the table {database.table_name(path)} has rows with {flag} = null, so it is undefined which version "
            "is the current one; set the column to true or false"
        )


def _is_moment(kind: pa.DataType | None) -> bool:
    return kind is not None and of.is_timestamp(kind)


@frozen(kw_only=True)
class Versions:
    """Statements that apply rows to a table with history. Unchanged rows cause no writes."""

    database: TableDatabase
    table: str
    """Quoted name of the table."""

    rows: str
    """FROM item of the new rows: a table or a subquery."""

    alias: str
    """Alias of ``rows``."""

    last: str = ""
    """Condition for the last row of a key, followed by ``AND``; empty if ``rows`` contains only last rows."""

    updates_from: bool = False
    """True if the database supports ``UPDATE … FROM``, which may be faster than EXISTS."""

    columns: Sequence[str] = field(repr=False)
    """Columns of the rows."""

    key: Sequence[str]
    history: Sequence[str]
    """History columns: valid from, valid until, and is current."""

    at: str
    """SQL literal of the commit time, shared by all statements of the commit."""

    require_kept: Callable[[str], None] = field(repr=False)
    """Function that checks the versions that new ones replace, before the first statement: ``KeptValues.require``."""

    def statements(self) -> Iterator[str]:
        """Yield the statements in execution order."""
        quoted, table, at, rows = self.database.quoted, self.table, self.at, self.alias
        since, until, current = map(quoted, self.history)
        keys, names = list(map(quoted, self.key)), list(map(quoted, self.columns))
        same = " AND ".join(f"{rows}.{name} = {table}.{name}" for name in keys)
        others = [name for name in names if name not in keys]
        changed = [self.database.differ(f"{table}.{name}", f"{rows}.{name}") for name in others]
        ends = f"{self.last}{same} AND ({' OR '.join([f'{rows}.{KIND} IN (1, 3)', *changed])})"
        replacing = f"SELECT 1 FROM {self.rows} WHERE {ends} AND {rows}.{KIND} IN (0, 2)"
        self.require_kept(f"{table} WHERE {table}.{current} AND EXISTS ({replacing})")
        begun = f"{table}.{since}"
        end = f"UPDATE {table} SET {until} = CASE WHEN {begun} > {at} THEN {begun} ELSE {at} END, {current} = false"
        if self.updates_from:
            yield f"{end} FROM {self.rows} WHERE {table}.{current} AND {ends}"
        else:
            yield f"{end} WHERE {current} AND EXISTS (SELECT 1 FROM {self.rows} WHERE {ends})"
        # If another clock was ahead of this one, a version may end later than now: the next one starts at that time.
        listed = ", ".join(keys)
        ended = f"SELECT {listed}, max({until}) AS seatunnel_until FROM {table} WHERE {until} > {at} GROUP BY {listed}"
        both = " AND ".join(f"seatunnel_ended.{name} = {rows}.{name}" for name in keys)
        shown = ", ".join(f"{rows}.{name}" for name in names)
        yield (
            f"{self.database.insert(table, ', '.join([*names, since, until, current]))} "
            f"SELECT {shown}, coalesce(seatunnel_until, {at}), NULL, true "
            f"FROM {self.rows} LEFT JOIN ({ended}) AS seatunnel_ended ON {both} WHERE {self.last}{KIND} IN (0, 2) "
            f"AND NOT EXISTS (SELECT 1 FROM {table} WHERE {table}.{current} AND {same})"
        )
        # A version that a later unit of the same commit ends was never valid.
        yield f"DELETE FROM {table} WHERE {until} = {at} AND {since} = {at}"
