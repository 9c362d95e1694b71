"""Replacement of the rows of tables, or deletion of rows whose keys did not occur, at the end of a run.

Until then, rows or keys are collected in separate tables. A table of records maps each separate table to its target.
The transaction that changes the targets also deletes the records, so a retry does nothing.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from attrs import frozen

from seatunnel_core.connector_api.errors import SinkError
from seatunnel_core.connector_api.sink_context import SinkContext
from seatunnel_core.connectors.nested.child_tables import Family
from seatunnel_core.connectors.staging.lost_table import lost
from seatunnel_core.connectors.tables.database import TableDatabase
from seatunnel_core.connectors.tables.deletion import no_key_matches, removal, report_removed
from seatunnel_core.connectors.tables.ledger import key_of
from seatunnel_core.connectors.tables.messages import shared_target
from seatunnel_core.connectors.tables.table_path import TablePath


@frozen(kw_only=True)
class Replacement(ABC):
    """Collecting tables of one sink of one pipeline. All methods work in the caller's transaction."""

    database: TableDatabase
    context: SinkContext
    sink: str
    """Identifier of the sink."""

    records: str
    """Quoted table of records ``(pipeline, <column>, target)``."""

    column: str
    """Column of ``records`` with the name of a collecting table."""

    partitions: tuple[str, ...]
    """Columns that select the rows to replace: rows with the same values as a collected row. Empty to replace all rows.
    """

    deletes: bool
    """True if keys are collected, and rows with other keys are deleted."""

    @abstractmethod
    def collected(self, path: TablePath) -> str:
        """Return the name of the table that collects rows for a target."""

    @abstractmethod
    def place(self, path: TablePath) -> TablePath:
        """Return the path of the table that collects rows for a target."""

    @abstractmethod
    def exists(self, connection: Any, path: TablePath) -> bool:
        """Return True if a target exists."""

    @abstractmethod
    def collects(self, connection: Any, path: TablePath) -> bool:
        """Return True if the collecting table of a target exists."""

    @abstractmethod
    def family(self, connection: Any, path: TablePath, key: Sequence[str]) -> Family | None:
        """Return a target with its child tables; ``None`` if there are no child tables."""

    @property
    def who(self) -> str:
        """Pipeline and sink, for messages."""
        return f"pipeline {self.context.pipeline_id}, sink {self.sink}"

    @property
    def _key(self) -> str:
        return self.database.literal(key_of(self.context))

    def collect_for(self, connection: Any, path: TablePath, create: Callable[[], None]) -> None:
        """Create the collecting table of a target with ``create()``, and record its target, unless the table exists.

        Raises:
            SinkError: Another sink has the same target, or the collecting table had rows and no longer exists.
        """
        name, target, named = self.collected(path), self.database.literal(json.dumps(path)), self.named(path)
        asked = f"SELECT pipeline, {self.column} FROM {self.records} WHERE target = {target}"
        known = [tuple(row) for row in self.database.ask(connection, asked)]
        for pipeline, _ in known:
            if pipeline.startswith(f"{self.context.job_id}/") and pipeline != key_of(self.context):
                raise SinkError(shared_target(named))
        if not self.collects(connection, path):
            if named in self.context.published_to:
                raise SinkError(lost(self.who, f"{name}, which collects the rows for {path[-1]},", exists=False))
            create()
        if (key_of(self.context), name) not in known:
            values = f"({self._key}, {self.database.literal(name)}, {target})"
            self.database.run(
                connection, f"INSERT INTO {self.records} (pipeline, {self.column}, target) VALUES {values}"
            )

    def named(self, path: TablePath) -> str:
        """Return the name of a target for messages."""
        return self.database.table_name(path)

    def finish(self, connection: Any) -> list[TablePath]:
        """Replace the rows of all targets, or delete rows whose keys were not collected; return the tables to drop.

        Raises:
            SinkError: All rows of a target would be deleted, because none of their keys was collected.
        """
        paths = self._targets(connection)
        for path in paths:
            if self.deletes:
                self._delete_absent(connection, path)
            else:
                self._replace(connection, path)
        self.forget(connection)
        return [self.place(path) for path in paths]

    def _replace(self, connection: Any, path: TablePath) -> None:
        database, rows, table = self.database, self._quoted_place(path), self.database.quoted(*path)
        removed = f"DELETE FROM {table}"
        if self.partitions:
            columns = [database.quoted(name) for name in self.partitions]
            new = f"(SELECT DISTINCT {', '.join(columns)} FROM {rows}) AS seatunnel_new"
            same = (database.same_or_null(f"{table}.{each}", f"seatunnel_new.{each}") for each in columns)
            removed = database.delete(table, new, " AND ".join(same))
        database.run(connection, removed)
        names = ", ".join(map(database.quoted, database.column_names(connection, rows)))
        database.run(connection, f"{database.insert(table, names)} SELECT {names} FROM {rows}")

    def _delete_absent(self, connection: Any, path: TablePath) -> None:
        """Delete the rows with keys that were not collected; keep rows with null in the key."""
        if not self.exists(connection, path):
            return
        database, keys, table = self.database, self._quoted_place(path), self.database.quoted(*path)
        names = database.column_names(connection, keys)
        statement = removal(partial(database.ask, connection), table, keys, list(map(database.quoted, names)))
        if statement is None:
            raise no_key_matches(self.who, self.named(path), names)
        family = self.family(connection, path, names)
        for each in family.removed_with(statement) if family is not None else ():
            database.run(connection, each)
        report_removed(self.sink, self.named(path), database.changed_rows(connection, statement))

    def _quoted_place(self, path: TablePath) -> str:
        return self.database.quoted(*self.place(path))

    def drop(self, connection: Any, paths: Sequence[TablePath]) -> None:
        """Drop collecting tables."""
        for path in paths:
            self.database.run(connection, f"DROP TABLE IF EXISTS {self.database.quoted(*path)}")

    def clear(self, connection: Any) -> None:
        """Delete the records of the pipeline, and drop its collecting tables."""
        self.drop(connection, [self.place(path) for path in self._targets(connection)])
        self.forget(connection)

    def forget(self, connection: Any) -> None:
        """Delete the records of the pipeline."""
        self.database.run(connection, f"DELETE FROM {self.records} WHERE pipeline = {self._key}")

    def _targets(self, connection: Any) -> list[TablePath]:
        asked = f"SELECT target FROM {self.records} WHERE pipeline = {self._key} ORDER BY target"
        return [tuple(json.loads(target)) for (target,) in self.database.ask(connection, asked)]
