"""DuckDB, to be read: Arrow comes out as it is. Any number of processes may open a file while none writes into it."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from seatunnel_core.connectors.jdbc.column import Column, DatabaseTable
from seatunnel_core.connectors.jdbc.dialect import Dialect, TablePath
from seatunnel_core.errors import SourceError

_PLAIN = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "VARCHAR": pa.string(),
    "BLOB": pa.binary(),
    "DATE": pa.date32(),
    "TIME": pa.time64("us"),
    "TIMESTAMP": pa.timestamp("us"),
    "TIMESTAMP WITH TIME ZONE": pa.timestamp("us", "UTC"),
}
_CAST = {
    "UTINYINT": ("SMALLINT", pa.int16()),
    "USMALLINT": ("INTEGER", pa.int32()),
    "UINTEGER": ("BIGINT", pa.int64()),
    "UBIGINT": ("DECIMAL(20, 0)", pa.decimal128(20, 0)),
    "HUGEINT": ("DECIMAL(38, 0)", pa.decimal128(38, 0)),
    **dict.fromkeys(("TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), ("TIMESTAMP", pa.timestamp("us"))),
}
"""What rows have no type for, and the one of DuckDB's that they have. All others are texts."""


class DuckDB(Dialect):
    """Version 2 or newer."""

    not_written = (
        "one process at a time may open a file of DuckDB to write, and tasks are several; write parquet with "
        "LocalFile, and let DuckDB read that"
    )

    # -- connections ----------------------------------------------------------------------------------------------

    def open(self, kind: str) -> Any:
        import duckdb

        found = duckdb.connect(self.address.database, read_only=True, config=dict(self.address.properties))
        found.execute("SET TimeZone = 'UTC'")
        found.begin()
        return found

    def require(self) -> None:
        if not Path(self.address.database).exists():
            raise SourceError(f"there is no file {self.address.database}")

    def alive(self, connection: Any) -> bool:
        """And in a transaction again."""
        try:
            connection.begin()
        except Exception:
            return False
        return True

    def cursor(self, connection: Any) -> Any:
        return connection

    # -- names and texts ------------------------------------------------------------------------------------------

    def quoted(self, *names: str) -> str:
        return ".".join('"' + name.replace('"', '""') + '"' for name in names)

    def path(self, written: str) -> TablePath:
        parts = [part.strip().strip('"') for part in written.split(".")]
        if not all(parts) or len(parts) > 3:
            raise ValueError(f"{written!r} is no table of DuckDB; write schema.table")
        return tuple(parts[-2:]) if len(parts) > 1 else ("main", *parts)

    def table_name(self, path: TablePath) -> str:
        return ".".join(path)

    # -- reading --------------------------------------------------------------------------------------------------

    def columns(self, connection: Any, select: str) -> tuple[Column, ...]:
        found = self.ask(connection, f"DESCRIBE SELECT * FROM ({select}\n) AS seatunnel_rows")
        return tuple(_column(name, declared) for name, declared, *_ in found)

    def table(self, connection: Any, path: TablePath) -> DatabaseTable | None:
        where = f"schema_name = {self.literal(path[0])} AND table_name = {self.literal(path[1])}"
        names = self.ask(connection, f"SELECT 1 FROM duckdb_columns() WHERE {where} LIMIT 1")
        if not names:
            return None
        asked = f"SELECT constraint_type, constraint_column_names FROM duckdb_constraints() WHERE {where}"
        keys = [(kind, tuple(columns)) for kind, columns in self.ask(connection, asked)]
        primary = next((columns for kind, columns in keys if kind == "PRIMARY KEY"), ())
        return DatabaseTable(
            columns=self.columns(connection, f"SELECT * FROM {self.quoted(*path)}"),
            primary_key=primary,
            unique_keys=tuple(columns for kind, columns in keys if kind in ("PRIMARY KEY", "UNIQUE")),
        )

    def estimated_rows(self, connection: Any, path: TablePath) -> int | None:
        where = f"schema_name = {self.literal(path[0])} AND table_name = {self.literal(path[1])}"
        found = self.ask(connection, f"SELECT estimated_size FROM duckdb_tables() WHERE {where}")
        return int(found[0][0]) if found and found[0][0] else None

    def sample(self, relation: str, column: str, one_of: int) -> str:
        return f"SELECT {column} AS v FROM {relation} WHERE random() < {1 / one_of:.9f}"

    def ask(self, connection: Any, statement: str) -> Sequence[Sequence[Any]]:
        found: Sequence[Sequence[Any]] = connection.execute(statement).fetchall()
        return found

    def read(
        self, statement: str, schema: pa.Schema, fetch_size: int, snapshot: str | None
    ) -> Iterator[pa.RecordBatch]:
        with self.pool.lend() as connection:
            for batch in connection.sql(statement).to_arrow_reader(fetch_size):
                arrays = [
                    array if array.type == column.type else array.cast(column.type)
                    for array, column in zip(batch.columns, schema, strict=True)
                ]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    # -- failures -------------------------------------------------------------------------------------------------

    def may_pass(self, error: BaseException) -> bool:
        import duckdb

        return isinstance(error, duckdb.IOException) and "lock" in str(error)


def _column(name: str, declared: str) -> Column:
    if found := re.fullmatch(r"DECIMAL\((\d+),\s*(\d+)\)", declared):
        arrow: pa.DataType = pa.decimal128(int(found[1]), int(found[2]))
        return Column(name=name, declared=declared, arrow=arrow, read="{}")
    plain = _PLAIN.get(declared) or (pa.list_(_PLAIN[declared[:-2]]) if declared[:-2] in _PLAIN else None)
    if plain is not None and (declared in _PLAIN or declared.endswith("[]")):
        return Column(name=name, declared=declared, arrow=plain, read="{}")
    kind, arrow = _CAST.get(declared, ("VARCHAR", pa.string()))
    return Column(name=name, declared=declared, arrow=arrow, read=f"CAST({{}} AS {kind})")
