"""DuckDB, read-only. Several processes can read a file as long as no process writes to it."""

import re
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.types as of

from seatunnel_core.connector_api.errors import SourceError
from seatunnel_core.connectors.jdbc.column import Column, DatabaseTable
from seatunnel_core.connectors.jdbc.databases.dialect import Dialect
from seatunnel_core.connectors.jdbc.databases.duckdb_properties import settings
from seatunnel_core.connectors.jdbc.fetched import Fetched, converted, fetched, schema_of, without
from seatunnel_core.connectors.jdbc.order import OWN, Order
from seatunnel_core.connectors.tables.table_path import TablePath, parts_of
from seatunnel_core.rows.extent import BEYOND, beyond, shown

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
_ORDERED = set(_PLAIN) - {"BLOB"}
"""Types whose literals compare in the same order as their values."""

_CAST = {
    "UTINYINT": ("SMALLINT", pa.int16()),
    "USMALLINT": ("INTEGER", pa.int32()),
    "UINTEGER": ("BIGINT", pa.int64()),
    "UBIGINT": ("DECIMAL(20, 0)", pa.decimal128(20, 0)),
    **dict.fromkeys(("TIMESTAMP_S", "TIMESTAMP_MS"), ("TIMESTAMP", pa.timestamp("us"))),
}
"""DuckDB types without an equivalent row type, with the type to cast to and its Arrow type. Other types without an
equivalent are read as strings.
"""

_CHECKED = {"HUGEINT": ("CAST({} AS VARCHAR)", pa.decimal128(38, 0)), "TIMESTAMP_NS": ("{}", pa.timestamp("us"))}
"""Types with values that rows cannot represent, mapped to the expression that reads a column and its Arrow type.
"""


class DuckDB(Dialect):
    """DuckDB 2 or newer."""

    orders: ClassVar[Mapping[str, Order]] = {
        OWN: Order(shown="CAST({} AS VARCHAR)", ranges=True),
        "text": Order(
            by="CAST({} AS VARCHAR)",
            shown="CAST({} AS VARCHAR)",
            key=str.encode,
            description="in string order",
        ),
    }
    plain_order: ClassVar[str] = "text"
    not_written = (
        "only one process at a time can open a DuckDB file for writing, but tasks run in several processes; use "
        "the sink DuckDB, which stages rows and loads them in the driver"
    )

    def open(self, kind: str) -> Any:
        import duckdb

        found = duckdb.connect(self.address.database, read_only=True, config=settings(self.address.properties))
        found.execute("SET TimeZone = 'UTC'")
        found.begin()
        return found

    def require(self) -> None:
        if not Path(self.address.database).exists():
            raise SourceError(f"the file {self.address.database} does not exist")

    def alive(self, connection: Any) -> bool:
        """Begin a transaction; return False if this fails."""
        try:
            connection.begin()
        except Exception:
            return False
        return True

    def cursor(self, connection: Any) -> Any:
        return connection

    def path(self, written: str) -> TablePath:
        parts = parts_of(written)
        if len(parts) > 3:
            raise ValueError(f"{written!r} is not a DuckDB table name; write schema.table")
        return parts[-2:] if len(parts) > 1 else ("main", *parts)

    def table_name(self, path: TablePath) -> str:
        return ".".join(path)

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

    def read(
        self, statement: str, columns: Sequence[Column], fetch_size: int, snapshot: str | None
    ) -> Generator[Fetched, None, None]:
        schema = schema_of(columns)
        with self.pool.lend() as connection:
            for batch in connection.sql(statement).to_arrow_reader(fetch_size):
                yield fetched(
                    schema, [_fitted(array, column) for array, column in zip(batch.columns, columns, strict=True)]
                )

    def may_pass(self, error: BaseException) -> bool:
        import duckdb

        return isinstance(error, duckdb.IOException) and "lock" in str(error)


def _fitted(array: pa.Array, column: Column) -> tuple[pa.Array, Mapping[int, str]]:
    hint = f'; convert it in query, for example CAST("{column.name}" AS VARCHAR)'
    if column.declared in _CHECKED:
        return converted(array, lambda values: values.cast(column.arrow), hint)
    cast = array if array.type == column.arrow else array.cast(column.arrow)
    return without(cast, beyond(cast), lambda number: f"{_shown(cast[number])} {BEYOND}{hint}")


def _shown(value: pa.Scalar) -> str:
    """Return a date or time as a string for messages. DuckDB stores infinity as the smallest or largest integer."""
    if of.is_nested(value.type):
        return "an element"
    bits = value.type.bit_width - 1
    infinite = of.is_date(value.type) or of.is_timestamp(value.type)
    if infinite and abs(value.value) == 2**bits - 1:
        return "'infinity'" if value.value > 0 else "'-infinity'"
    return repr(shown(value))


def _column(name: str, declared: str) -> Column:
    if found := re.fullmatch(r"DECIMAL\((\d+),\s*(\d+)\)", declared):
        arrow: pa.DataType = pa.decimal128(int(found[1]), int(found[2]))
        return Column(name=name, declared=declared, arrow=arrow, read="{}")
    plain = _PLAIN.get(declared) or (pa.list_(_PLAIN[declared[:-2]]) if declared[:-2] in _PLAIN else None)
    if plain is not None and (declared in _PLAIN or declared.endswith("[]")):
        order = OWN if declared in _ORDERED else "text"
        return Column(name=name, declared=declared, arrow=plain, read="{}", order=order)
    if declared in _CHECKED:
        read, arrow = _CHECKED[declared]
        return Column(name=name, declared=declared, arrow=arrow, read=read)
    kind, arrow = _CAST.get(declared, ("VARCHAR", pa.string()))
    order = OWN if declared in _CAST else "text"
    return Column(name=name, declared=declared, arrow=arrow, read=f"CAST({{}} AS {kind})", order=order)
