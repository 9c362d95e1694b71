"""Tables of a DuckDB file."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.types as of
from attrs import evolve, frozen

from seatunnel_core.connector_api.errors import SinkError
from seatunnel_core.connectors.duckdb.database import Database, failed
from seatunnel_core.connectors.nested.child_tables import BETWEEN
from seatunnel_core.connectors.tables.database import TableColumn
from seatunnel_core.connectors.tables.sql_database import FILE, KIND, SqlDatabase, StagedPart
from seatunnel_core.connectors.tables.table_path import TablePath, parts_of

PLAIN: Mapping[pa.DataType, str] = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.uint8(): "UTINYINT",
    pa.uint16(): "USMALLINT",
    pa.uint32(): "UINTEGER",
    pa.uint64(): "UBIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.string(): "VARCHAR",
    pa.binary(): "BLOB",
    pa.date32(): "DATE",
    pa.time64("us"): "TIME",
    pa.timestamp("us"): "TIMESTAMP",
    pa.timestamp("us", "UTC"): "TIMESTAMP WITH TIME ZONE",
}

OWN = "seatunnel"
"""Schema for the engine's records and its temporary tables of collected rows."""


@frozen(kw_only=True)
class DuckDBTables(SqlDatabase):
    """Table operations on a DuckDB file. DuckDB itself reads staged Parquet files. A path is a schema and a table."""

    name: ClassVar[str] = "DuckDB"
    types: ClassVar[Mapping[pa.DataType, str]] = PLAIN

    file: Database

    @property
    def where(self) -> str:
        return self.file.path

    @property
    def exists(self) -> bool:
        return self.file.exists

    def transaction(self) -> AbstractContextManager[Any]:
        return self.file.transaction()

    def cursor(self, connection: Any) -> Any:
        return connection  # each DuckDB cursor has its own transaction

    def changed_rows(self, connection: Any, statement: str) -> int:
        ((changed,),) = self.ask(connection, statement)
        return int(changed)

    def failed(self, kind: type[SinkError], what: str, error: Exception) -> SinkError:
        return failed(kind, what, error)

    def stored_type(self, kind: pa.DataType) -> pa.DataType:
        if of.is_decimal128(kind):
            return kind
        if of.is_list(kind) or of.is_large_list(kind) or of.is_fixed_size_list(kind):
            return pa.list_(self.stored_type(kind.value_type))
        if of.is_map(kind):
            return pa.map_(self.stored_type(kind.key_type), self.stored_type(kind.item_type))
        if of.is_struct(kind) and kind.num_fields:
            return pa.struct([pa.field(part.name, self.stored_type(part.type)) for part in kind])
        return super().stored_type(kind)

    def declared_type(self, kind: pa.DataType) -> str:
        if of.is_decimal128(kind):
            return f"DECIMAL({kind.precision}, {kind.scale})"
        if of.is_list(kind):
            return f"{self.declared_type(kind.value_type)}[]"
        if of.is_map(kind):
            return f"MAP({self.declared_type(kind.key_type)}, {self.declared_type(kind.item_type)})"
        if of.is_struct(kind):
            parts = (f"{self.quoted(part.name)} {self.declared_type(part.type)}" for part in kind)
            return f"STRUCT({', '.join(parts)})"
        return super().declared_type(kind)

    def arrow_type(self, declared: str) -> pa.DataType | None:
        decimal = re.fullmatch(r"DECIMAL\((\d+),\s*(\d+)\)", declared)
        return pa.decimal128(int(decimal[1]), int(decimal[2])) if decimal else super().arrow_type(declared)

    def written_type(self, connection: Any, kind: pa.DataType) -> str:
        written: str = self.ask(connection, f"SELECT typeof(CAST(NULL AS {self.declared_type(kind)}))")[0][0]
        return written

    def same_or_null(self, one: str, other: str) -> str:
        return f"{one} IS NOT DISTINCT FROM {other}"

    def differ(self, one: str, other: str) -> str:
        same_bytes = f"encode({one}::VARCHAR) IS DISTINCT FROM encode({other}::VARCHAR)"
        return f"{one} IS DISTINCT FROM {other} OR {same_bytes}"

    def row_image(self, columns: Sequence[TableColumn], of: str) -> str:
        values = []
        for column in columns:
            name = f"{of}.{self.quoted(column.name)}"
            value = name if column.declared == "BLOB" else f"CAST({name} AS VARCHAR)"
            values.append(f"CASE WHEN {name} IS NULL THEN '-' ELSE sha256({value}) END")
        return f"sha256(concat({', '.join(values)}))"

    def now(self) -> str:
        return "now()"  # the start of the transaction

    def table_columns(self, connection: Any, path: TablePath) -> list[TableColumn]:
        found = super().table_columns(connection, path)
        if all(each.arrow is not None for each in found):
            return found
        kinds = connection.sql(f"SELECT * FROM {self.quoted(*path)} LIMIT 0").to_arrow_table().schema.types
        return [
            each if each.arrow is not None else evolve(each, arrow=self._staged_as(connection, kind, each.declared))
            for each, kind in zip(found, kinds, strict=True)
        ]

    def _staged_as(self, connection: Any, kind: pa.DataType, declared: str) -> pa.DataType | None:
        """Return the type with which a column's values are staged; ``None`` if DuckDB would change the type."""
        try:
            found = self.stored_type(kind)
        except TypeError:
            return None
        return found if self.written_type(connection, found) == declared else None

    def columns(self, connection: Any, path: TablePath) -> list[TableColumn]:
        schema, name = self._literals(path)
        where = f"database_name = current_database() AND lower(schema_name) = {schema}"
        if self.ask(connection, f"SELECT 1 FROM duckdb_views() WHERE {where} AND lower(view_name) = {name}"):
            raise SinkError(f"{'.'.join(path)} is a view, which does not accept rows; choose a table")
        asked = "SELECT column_name, data_type, is_nullable, column_default FROM duckdb_columns()"
        found = self.ask(connection, f"{asked} WHERE {where} AND lower(table_name) = {name} ORDER BY column_index")
        return [
            TableColumn(name=name, declared=declared, nullable=bool(nullable), filled=default is not None)
            for name, declared, nullable, default in found
        ]

    def _literals(self, path: TablePath) -> list[str]:
        return [f"lower({self.literal(part)})" for part in path]

    def table_path(self, written: str) -> TablePath:
        parts = parts_of(written)
        path = parts if len(parts) > 1 else ("main", *parts)
        if len(path) > 2 or path[0].lower() == OWN:
            raise ValueError(
                f"{written!r} is not a table name; write schema.table, or a name in quotes (the schema {OWN} is "
                "reserved for the engine)"
            )
        return path

    def own(self, name: str) -> TablePath:
        return OWN, name

    def create_schema(self, connection: Any, path: TablePath) -> None:
        self.run(connection, f"CREATE SCHEMA IF NOT EXISTS {self.quoted(path[0])}")

    def drop_own(self, connection: Any) -> None:
        self.run(connection, f"DROP SCHEMA {OWN} CASCADE")

    def unique_keys(self, connection: Any, path: TablePath) -> Sequence[Sequence[str]]:
        schema, name = self._literals(path)
        where = f"database_name = current_database() AND lower(schema_name) = {schema} AND lower(table_name) = {name}"
        asked = f"SELECT constraint_column_names FROM duckdb_constraints() WHERE {where}"
        found = self.ask(connection, f"{asked} AND constraint_type IN ('PRIMARY KEY', 'UNIQUE')")
        return [names for (names,) in found]

    def children(self, connection: Any, path: TablePath) -> Mapping[str, Sequence[str]]:
        (schema, name), prefix = self._literals(path), f"lower({self.literal(path[-1] + BETWEEN)})"
        asked = (
            "SELECT lower(table_name), list(lower(column_name)) FROM duckdb_columns() WHERE database_name = "
            f"current_database() AND lower(schema_name) = {schema} AND (lower(table_name) = {name} OR "
            f"starts_with(lower(table_name), {prefix})) GROUP BY table_name"
        )
        return {str(found): list(names) for found, names in self.ask(connection, asked)}

    def widen_column(self, connection: Any, path: TablePath, column: TableColumn, declared: str) -> str | None:
        return f"ALTER TABLE {self.quoted(*path)} ALTER COLUMN {self.quoted(column.name)} TYPE {declared}"

    def staged(self, connection: Any, parts: Sequence[StagedPart]) -> str:
        import pyarrow.parquet as pq

        columns = [pq.read_schema(part.file) for part in parts] if len(parts) > 1 else []
        if all(each.types == columns[0].types for each in columns):
            return self._read(parts)
        # DuckDB would read all files with the types of the first one.
        common, listed = self.common_types(connection, parts, columns), [FILE]
        for name in columns[0].names:
            quoted = self.quoted(name)
            listed.append(f"CAST({quoted} AS {common[name]}) AS {quoted}" if name in common else quoted)
        alike: dict[tuple[pa.DataType, ...], list[StagedPart]] = {}
        for part, each in zip(parts, columns, strict=True):
            alike.setdefault(tuple(each.types), []).append(part)
        reads = (f"SELECT {', '.join(listed)} FROM {self._read(same)}" for same in alike.values())
        return f"({' UNION ALL '.join(reads)})"

    def _read(self, parts: Sequence[StagedPart]) -> str:
        options = f"filename = '{FILE}', hive_partitioning = false, union_by_name = false"
        return f"read_parquet({self._files(parts)}, {options})"

    def order_of(self, parts: Sequence[StagedPart]) -> str:
        return f"list_position({self._files(parts)}, {FILE})"

    def _files(self, parts: Sequence[StagedPart]) -> str:
        return f"[{', '.join(self.literal(part.file) for part in parts)}]"

    def merge(self, table: str, rows: str, columns: Sequence[str], key: Sequence[str]) -> Iterator[str]:
        names = [self.quoted(name) for name in columns]
        same = " AND ".join(f"{table}.{name} = seatunnel_rows.{name}" for name in map(self.quoted, key))
        others = [self.quoted(name) for name in columns if name not in key]
        changes = ", ".join(f"{name} = seatunnel_rows.{name}" for name in others)
        values = ", ".join(f"seatunnel_rows.{name}" for name in names)
        yield (
            f"MERGE INTO {table} USING ({rows}) AS seatunnel_rows ON ({same}) "
            f"WHEN MATCHED AND seatunnel_rows.{KIND} IN (1, 3) THEN DELETE "
            f"WHEN MATCHED THEN {f'UPDATE SET {changes}' if changes else 'DO NOTHING'} "
            f"WHEN NOT MATCHED AND seatunnel_rows.{KIND} IN (0, 2) THEN INSERT ({', '.join(names)}) VALUES ({values})"
        )
