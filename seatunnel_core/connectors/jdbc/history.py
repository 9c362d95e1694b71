"""Row history of merges: columns with the start and end of each version's validity, and a flag for the current one.

For a row that changes or is deleted, a commit ends the current version and, unless deleted, adds the new one, both with
the same timestamp. Unchanged rows write nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.types as of
from attrs import evolve, field, frozen

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import SinkError
from seatunnel_core.connectors.jdbc.column import DatabaseTable
from seatunnel_core.connectors.jdbc.databases.dialect import Dialect
from seatunnel_core.connectors.jdbc.target import Target, target_table
from seatunnel_core.connectors.tables.history import Versions
from seatunnel_core.connectors.tables.table_path import TablePath


@frozen(kw_only=True)
class History:
    """History columns of one sink, and the time of a commit."""

    since: str
    until: str
    current: str
    at: datetime = field(factory=lambda: datetime.now(UTC))

    @property
    def names(self) -> tuple[str, str, str]:
        """Names of the three columns."""
        return self.since, self.until, self.current

    def added(self, columns: pa.Schema, dialect: Dialect) -> pa.Schema:
        """Return the columns of a new table, followed by the history columns."""
        moment = pa.timestamp("us", "UTC")
        try:
            dialect.column_type(moment)
        except TypeError:  # no time zones, as in SQLite: the values are still in UTC
            moment = pa.timestamp("us")
        more = [pa.field(self.since, moment), pa.field(self.until, moment), pa.field(self.current, pa.bool_())]
        return pa.schema([*columns, *more])

    def beside(self, table: DatabaseTable) -> DatabaseTable:
        """Return a table without the history columns, as rows see it."""
        return evolve(table, columns=tuple(each for each in table.columns if each.name not in self.names))

    def require(self, dialect: Dialect, connection: Any, table: DatabaseTable, target: Target) -> None:
        """Reject a table that lacks a history column, has one that a new version would lose, or allows a key only once.

        Raises:
            SinkError: the message contains the column.
        """
        if target.unique:
            raise SinkError(
                f"the table {target.named} has a unique index on ({', '.join(target.keys)}), but keep_history "
                "adds rows with the same key; drop that index, or choose a table that does not exist yet"
                ""
            )
        for name in self.names:
            column, wanted = table.column(name), "boolean" if name == self.current else "timestamp"
            fitting = column is not None and (
                (of.is_boolean(column.arrow) or of.is_integer(column.arrow))
                if name == self.current
                else of.is_timestamp(column.arrow)
            )
            if not fitting:
                have = "has none" if column is None else f"has {column.declared}"
                raise SinkError(
                    f"keep_history needs a column {name!r} of a type such as {wanted}, but the table {target.named} "
                    f"{have}; add it and fill it for the existing rows ({self.current} with true), or choose a table "
                    "that does not exist yet"
                )
        for column in self.beside(table).columns:
            if column.name not in target.names and not column.generated:
                raise SinkError(
                    f"the table {target.named} has a column {column.name!r}, which the rows lack, so new versions "
                    "would lose its values; remove keep_history, or add that column to the rows"
                    ""
                )
        current, there = dialect.quoted(self.current), dialect.quoted(*target.path)
        if dialect.ask(connection, f"SELECT 1 FROM {there} WHERE {current} IS NULL LIMIT 1"):
            raise SinkError(
                f"the table {target.named} has rows with {self.current} = null, so it is undefined which version is "
                "the current one; set it to true or false"
            )

    def moves(self, dialect: Dialect, target: Target, staging: str) -> Iterator[str]:
        """Yield the statements that apply the last staged row of each key to a table.

        Args:
            dialect: The database.
            target: The table and its key.
            staging: The quoted name of the staging table.
        """
        yield from Versions(
            database=dialect,
            table=dialect.quoted(*target.path),
            rows=target.ranked(dialect, staging),
            alias="seatunnel_ranked",
            last="seatunnel_last = 1 AND ",
            columns=target.names,
            key=target.keys,
            history=self.names,
            at=dialect.moment(self.at),
        ).statements()


def history_of(names: Sequence[str]) -> History | None:
    """Return the history of these three columns, with the current time; ``None`` without names."""
    return History(since=names[0], until=names[1], current=names[2]) if names else None


def target_with(
    history: History | None,
    dialect: Dialect,
    connection: Any,
    table: DatabaseTable,
    path: TablePath,
    schema: TableSchema,
    *,
    names: Mapping[str, str],
    keys: Sequence[str],
    upserts: bool,
) -> Target:
    """Return the target for rows that go into a table, whose history columns the rows lack.

    The arguments are those of ``target_table``, and a connection for inspecting the existing rows.

    Raises:
        SinkError: as ``target_table``, or the table cannot keep history.
    """
    seen = table if history is None else history.beside(table)
    target = target_table(dialect, seen, path, schema, names=names, keys=keys, upserts=upserts)
    if history is not None:
        history.require(dialect, connection, table, target)
    return target
