"""Interface of databases that the driver fills from files staged by tasks."""

import hashlib
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.types as of
from attrs import evolve, field, frozen

from seatunnel_core.connector_api.errors import SinkError
from seatunnel_core.connectors.tables.database import TableColumn, TableDatabase
from seatunnel_core.connectors.tables.table_path import TablePath, parts_of

__all__ = ["ABSENT", "FILE", "KIND", "NUMBER", "SqlDatabase", "StagedPart", "TableColumn"]

KIND, NUMBER = "seatunnel_kind", "seatunnel_row"
"""Columns of staged rows to merge, in addition to the user's: the row kind, and the row's number in the unit."""

ABSENT = "seatunnel_absent"
"""Column of staged rows that marks their absent values: see ``absent_values.absent_marks``."""

FILE = "seatunnel_file"
"""Column of staged rows with the name of their file."""

_STORED = {
    pa.float16(): pa.float32(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.date64(): pa.date32(),
}


@frozen(kw_only=True)
class StagedPart:
    """A staged file: rows of one unit for one table."""

    epoch: int
    unit: str
    """ID of the committable."""

    name: str
    file: str
    """Full path of the file."""

    path: TablePath
    """Path of the table."""

    columns: tuple[str, ...] = field(repr=False)
    key: tuple[str, ...] = ()
    root: TablePath = ()
    """Table of the parent rows, if they are replaced together with their children."""

    whole: bool = False
    """True if rows have no key, and changes apply to rows that are equal in all columns."""

    has_absent: bool | None = None
    """True if a row has an absent value; ``None`` if the file has no column ``ABSENT``."""


class SqlDatabase(TableDatabase):
    """A database with window functions, ``UPDATE … FROM`` and temporary tables.

    Names are compared without regard to case. Temporary tables end with the transaction or its connection.
    """

    types: ClassVar[Mapping[pa.DataType, str]]
    """Declared type for each Arrow type that the database supports. Strings and integers must be supported."""

    @property
    @abstractmethod
    def where(self) -> str:
        """Path or address, for messages."""

    @property
    def exists(self) -> bool:
        """False if the database does not exist and opening it would create it."""
        return True

    def failed(self, kind: type[SinkError], what: str, error: Exception) -> SinkError:
        """Convert an error of the database to ``kind``, which is retryable if a retry may help."""
        return kind(f"{what}: {error}")

    def stored_type(self, kind: pa.DataType) -> pa.DataType:
        """Return the type in which values of a type are staged; raise ``TypeError`` if there is none."""
        kind = _STORED.get(kind, kind)
        if of.is_timestamp(kind):
            kind = pa.timestamp("us", kind.tz and "UTC")
        elif of.is_time(kind):
            kind = pa.time64("us")
        elif of.is_fixed_size_binary(kind):
            kind = pa.binary()
        if kind not in self.types:
            raise TypeError(str(kind))
        return kind

    def declared_type(self, kind: pa.DataType) -> str:
        """Return the database's type for a stored type."""
        return self.types[kind]

    def arrow_type(self, declared: str) -> pa.DataType | None:
        """Return the Arrow type of a declared type; ``None`` if rows do not support it."""
        return next((kind for kind, written in self.types.items() if written == declared), None)

    def written_type(self, connection: Any, kind: pa.DataType) -> str:
        """Return the type of a new column in the database's notation, for a stored type."""
        return self.declared_type(kind)

    @abstractmethod
    def columns(self, connection: Any, path: TablePath) -> list[TableColumn]:
        """Return the columns of a table; empty if it does not exist. Raise ``SinkError`` for a view."""

    def table_columns(self, connection: Any, path: TablePath) -> list[TableColumn]:
        found = self.columns(connection, path)
        return [evolve(each, arrow=each.arrow or self.arrow_type(each.declared)) for each in found]

    def table_path(self, written: str) -> TablePath:
        """Parse a user's table path; raise ``ValueError`` if it is not the path of a table."""
        found = parts_of(written)
        if len(found) != 1 or found[0].lower().startswith("seatunnel_"):
            raise ValueError(f"{written!r} is not a table name; write a name, in quotes if it has a dot")
        return found

    def own(self, name: str) -> TablePath:
        """Return the path of one of the engine's tables."""
        return (f"seatunnel_{name}",)

    def create_schema(self, connection: Any, path: TablePath) -> None:
        """Create the schema of a table if it does not exist."""

    def drop_own(self, connection: Any) -> None:
        """Drop the engine's tables if they are empty."""
        for name in ("pipelines", "commits", "replacing"):
            self.run(connection, f"DROP TABLE IF EXISTS {self.quoted(*self.own(name))}")

    def unique_keys(self, connection: Any, path: TablePath) -> Sequence[Sequence[str]]:
        """Return the columns of each unique index or constraint of a table, including the primary key."""
        return ()

    def children(self, connection: Any, path: TablePath) -> Mapping[str, Sequence[str]]:
        """Return the columns of a table and of its child tables ``<name>__…``, keyed by table name, all in lower case.

        If the result is empty, the sink does not replace child tables together with merged rows.
        """
        return {}

    def staged(self, connection: Any, parts: Sequence[StagedPart]) -> str:
        """Return a FROM item for the rows of files; by default, load the files into a temporary table."""
        import pyarrow.parquet as pq

        common = self.common_types(connection, parts, [pq.read_schema(part.file) for part in parts])
        table = f"seatunnel_staged_{hashlib.sha256(repr([part.file for part in parts]).encode()).hexdigest()[:16]}"
        for number, part in enumerate(parts):
            with pq.ParquetFile(part.file) as file:
                if not number:
                    columns = pa.schema([*file.schema_arrow, pa.field(FILE, pa.int64())])
                    types = (common.get(each.name) or self._loaded_type(each.type) for each in columns)
                    listed = map(" ".join, zip(map(self.quoted, columns.names), types, strict=True))
                    self.run(connection, f"CREATE TEMPORARY TABLE {self.quoted(table)} ({', '.join(listed)})")
                for rows in file.iter_batches():
                    numbers = pa.repeat(number, rows.num_rows).cast(pa.int64())
                    self.load(connection, table, rows.append_column(FILE, numbers))
        return self.quoted(table)

    def common_types(
        self, connection: Any, parts: Sequence[StagedPart], columns: Sequence[pa.Schema]
    ) -> Mapping[str, str]:
        """Return the declared types of the table's columns that have different types in its files.

        Files differ if the table was changed for later rows. ``columns`` are the columns of each file.
        """
        names, kinds = columns[0].names, zip(*(each.types for each in columns), strict=True)
        different = [name for name, some in zip(names, kinds, strict=True) if len(set(some)) > 1]
        held = self.columns(connection, parts[0].path) if different else []
        return {column.name: column.declared for column in held if column.name in different}

    def _loaded_type(self, kind: pa.DataType) -> str:
        return self.types[pa.int64() if of.is_integer(kind) else kind]

    def load(self, connection: Any, table: str, rows: pa.RecordBatch) -> None:
        """Insert rows into a temporary table with these columns."""
        raise NotImplementedError(self.name)

    def order_of(self, parts: Sequence[StagedPart]) -> str:
        """Return an expression that sorts staged rows in the order of their files."""
        return FILE

    def merge(self, table: str, rows: str, columns: Sequence[str], key: Sequence[str]) -> Iterator[str]:
        """Yield the statements that merge ``rows``, a subquery with one row per key, into a table."""
        source, listed = f"({rows}) AS seatunnel_rows", ", ".join(map(self.quoted, columns))
        same = " AND ".join(f"{table}.{name} = seatunnel_rows.{name}" for name in map(self.quoted, key))
        yield self.delete(table, source, f"{same} AND seatunnel_rows.{KIND} IN (1, 3)")
        others = [self.quoted(name) for name in columns if name not in key]
        if others:
            changes = ", ".join(f"{name} = seatunnel_rows.{name}" for name in others)
            yield f"UPDATE {table} SET {changes} FROM {source} WHERE {same} AND seatunnel_rows.{KIND} IN (0, 2)"
        fresh = f"{KIND} IN (0, 2) AND NOT EXISTS (SELECT 1 FROM {table} WHERE {same})"
        yield f"{self.insert(table, listed)} SELECT {listed} FROM {source} WHERE {fresh}"
