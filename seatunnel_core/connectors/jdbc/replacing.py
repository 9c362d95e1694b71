"""Replace the rows of tables when the last row of a run has come: until then they are collected in tables beside.

::

    seatunnel_<pipeline>_new_<digest>                       collected rows
    seatunnel_replacing (pipeline, collected, target)       for which table; removed in the transaction that replaces
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from attrs import frozen

from seatunnel_core.connector_api.errors import SinkError
from seatunnel_core.connector_api.sink import SinkContext
from seatunnel_core.connectors.jdbc.databases.dialect import Dialect
from seatunnel_core.connectors.jdbc.databases.table_path import TablePath
from seatunnel_core.connectors.jdbc.staging import key_of, prefix_of
from seatunnel_core.connectors.jdbc.target import Target
from seatunnel_core.connectors.staging.lost_table import lost

REPLACING = "seatunnel_replacing"

TABLE = (
    f"CREATE TABLE IF NOT EXISTS {REPLACING} (pipeline varchar(255) NOT NULL, collected varchar(63) NOT NULL, "
    "target varchar(1000) NOT NULL, PRIMARY KEY (pipeline, collected))"
)


@frozen(kw_only=True)
class Replacing:
    """The tables of collected rows of one sink of one pipeline; all methods work in the caller's transaction."""

    dialect: Dialect
    context: SinkContext
    partitions: tuple[str, ...]
    """Only rows with values of these columns that come are replaced; empty: all."""

    @property
    def _key(self) -> str:
        return self.dialect.literal(key_of(self.context))

    def collected(self, path: TablePath) -> str:
        """Return the name of the table that collects the rows for a target."""
        return f"{prefix_of(self.context)}_new_{hashlib.sha256(chr(0).join(path).encode()).hexdigest()[:16]}"

    def place(self, path: TablePath) -> TablePath:
        """Return the path of the table that collects the rows for a target."""
        return (self.collected(path),)

    def collect_for(self, connection: Any, target: Target) -> None:
        """Create the table that collects the rows for a target, if it is not there, and record what it is for.

        Raises:
            SinkError: Another sink of the job collects rows for the same target, or the table had rows and is gone.
        """
        self._collect_in(
            connection, target.path, target.staging_table(self.dialect, self.collected(target.path), temporary=False)
        )

    def _collect_in(self, connection: Any, path: TablePath, creation: str) -> None:
        """Run a statement that creates the table that collects rows for a target, unless it is there; record it."""
        name, said = self.collected(path), self.dialect.literal(json.dumps(path))
        asked = f"SELECT pipeline, collected FROM {REPLACING} WHERE target = {said}"
        known = [tuple(row) for row in self.dialect.ask(connection, asked)]
        for pipeline, _ in known:
            if pipeline.startswith(f"{self.context.job_id}/") and pipeline != key_of(self.context):
                raise SinkError(
                    f"another sink of this job replaces the table {self.dialect.table_name(path)}, or removes rows of "
                    "it, too, and the last one would win; give the rows to one sink"
                )
        cursor = self.dialect.cursor(connection)
        if name not in self.dialect.tables(connection, None, name):
            if self.dialect.table_name(path) in self.context.published_to:
                who = f"pipeline {self.context.pipeline_id}, sink Jdbc"
                raise SinkError(lost(who, f"{name}, which collects the rows for {path[-1]},", exists=False))
            cursor.execute(creation)
        if (key_of(self.context), name) not in known:
            values = f"({self._key}, {self.dialect.literal(name)}, {said})"
            cursor.execute(f"INSERT INTO {REPLACING} (pipeline, collected, target) VALUES {values}")

    def replace(self, connection: Any) -> list[str]:
        """Put the collected rows in the place of those of their targets, and return the tables that can be dropped."""
        found = self._recorded(connection)
        for name, path in found:
            self._change(connection, name, path)
        self.dialect.cursor(connection).execute(f"DELETE FROM {REPLACING} WHERE pipeline = {self._key}")
        return [name for name, _ in found]

    def _change(self, connection: Any, name: str, path: TablePath) -> None:
        collected, table = self.dialect.quoted(name), self.dialect.quoted(*path)
        self.dialect.cursor(connection).execute(self._removal(table, collected))
        names = ", ".join(self.dialect.quoted(each) for each in self._columns(connection, collected))
        self.dialect.cursor(connection).execute(f"{self.dialect.insert(table, names)} SELECT {names} FROM {collected}")

    def _columns(self, connection: Any, collected: str) -> list[str]:
        cursor = self.dialect.cursor(connection)
        cursor.execute(f"SELECT * FROM {collected} WHERE 1 = 0")
        return [column[0] for column in cursor.description]

    def _removal(self, table: str, collected: str) -> str:
        if not self.partitions:
            return f"DELETE FROM {table}"
        columns = [self.dialect.quoted(name) for name in self.partitions]
        new = f"(SELECT DISTINCT {', '.join(columns)} FROM {collected}) AS seatunnel_new"
        same = (
            f"({table}.{each} = seatunnel_new.{each} OR ({table}.{each} IS NULL AND seatunnel_new.{each} IS NULL))"
            for each in columns
        )
        return self.dialect.delete(table, new, " AND ".join(same))

    def _recorded(self, connection: Any) -> list[tuple[str, TablePath]]:
        asked = f"SELECT collected, target FROM {REPLACING} WHERE pipeline = {self._key} ORDER BY target"
        return [(name, tuple(json.loads(target))) for name, target in self.dialect.ask(connection, asked)]

    def clear(self, connection: Any) -> None:
        """Forget the pipeline, and drop the tables of collected rows that it left."""
        cursor = self.dialect.cursor(connection)
        cursor.execute(f"DELETE FROM {REPLACING} WHERE pipeline = {self._key}")
        self.drop(connection, self.dialect.tables(connection, None, f"{prefix_of(self.context)}_new_"))

    def drop(self, connection: Any, names: Sequence[str]) -> None:
        """Drop tables of collected rows."""
        for name in names:
            self.dialect.cursor(connection).execute(f"DROP TABLE IF EXISTS {self.dialect.quoted(name)}")
