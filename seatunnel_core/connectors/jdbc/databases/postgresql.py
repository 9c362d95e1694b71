"""PostgreSQL: ADBC reads and writes rows as Arrow with COPY; SQLAlchemy with psycopg does everything else."""

import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.types as of
from attrs import evolve

from seatunnel_core.connectors.jdbc.column import Column, DatabaseTable
from seatunnel_core.connectors.jdbc.databases.adbc import AdbcConnection
from seatunnel_core.connectors.jdbc.databases.column_type import column_type
from seatunnel_core.connectors.jdbc.databases.dialect import Asking, Dialect
from seatunnel_core.connectors.jdbc.databases.postgresql_properties import LIBPQ, PROPERTIES, ROLES, TRANSLATED
from seatunnel_core.connectors.jdbc.databases.postgresql_values import (
    before_4713_bc,
    column_of,
    rows_of,
    with_typed_array,
    without_length,
)
from seatunnel_core.connectors.jdbc.fetched import Fetched
from seatunnel_core.connectors.jdbc.order import OWN, Order, quoted
from seatunnel_core.connectors.jdbc.pool import BULK
from seatunnel_core.connectors.tables.database import TableColumn
from seatunnel_core.connectors.tables.table_path import TablePath, parts_of

_SETTINGS = ("-c tcp_keepalives_idle=60", "-c tcp_keepalives_interval=10", "-c tcp_keepalives_count=6")
"""TCP keepalive settings with which the server detects a failed machine and releases the locks of its connections."""

_TAKES_TEXT = {"text", "character varying", "character", "name", '"char"', "unknown"}

_PASSING = ("08", "53", "57P", "40", "55P03", "58")
"""Prefixes of SQLSTATE for which a retry may help: connection, resources, server restart, deadlock, lock, system."""

_NO_COPY = "cannot copy to view"

_REFUSED = (
    *("authentication failed", "does not exist", "no pg_hba.conf entry", "no password supplied"),
    *("permission denied", "not permitted to log in"),
)
"""Messages of permanent connection errors that have no SQLSTATE."""

_CREATING = 0x5EA_7C4EA7E
"""Key of the advisory lock for creating tables."""

_COLUMNS = """
SELECT t.oid, coalesce(b.typname, t.typname), t.typtype, pg_catalog.format_type(t.oid, m.typmod),
       coalesce(b.typtype, t.typtype) IN ('e', 'r', 'm') OR EXISTS (
         SELECT 1 FROM pg_catalog.pg_opclass c
           JOIN pg_catalog.pg_am a ON a.oid = c.opcmethod AND a.amname = 'btree'
           JOIN pg_catalog.pg_amop p ON p.amopfamily = c.opcfamily AND p.amopstrategy = 4
                AND p.amoplefttype = c.opcintype AND p.amoprighttype = c.opcintype
           JOIN pg_catalog.pg_operator o ON o.oid = p.amopopr AND o.oprname = '>='
          WHERE c.opcdefault AND c.opcintype = CASE coalesce(b.typname, t.typname) WHEN 'varchar' THEN 'text'::regtype
                WHEN 'cidr' THEN 'inet'::regtype ELSE coalesce(b.oid, t.oid) END)
  FROM unnest(%s::oid[], %s::int[]) WITH ORDINALITY AS m(oid, typmod, n)
  JOIN pg_catalog.pg_type t ON t.oid = m.oid
  LEFT JOIN pg_catalog.pg_type b ON b.oid = nullif(t.typbasetype, 0)
 ORDER BY m.n
"""
_KEYS = """
SELECT i.indisprimary, array_agg(a.attname::text ORDER BY array_position(i.indkey::int2[], a.attnum))
  FROM pg_catalog.pg_index i JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
 WHERE i.indrelid = %s AND i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL AND i.indisvalid
   AND i.indnkeyatts = i.indnatts
 GROUP BY i.indexrelid, i.indisprimary ORDER BY i.indisprimary DESC, i.indexrelid
"""
_NULLS = """
SELECT attname::text, NOT attnotnull, atthasdef OR attidentity <> '', attgenerated <> '' FROM pg_catalog.pg_attribute
 WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped
"""


class PostgreSQL(Dialect):
    """PostgreSQL 12 or newer."""

    orders: ClassVar[Mapping[str, Order]] = {
        OWN: Order(shown="{}::text", ranges=True),
        "text": Order(by='{}::text COLLATE "C"', shown="{}::text", description="in string order"),
    }
    plain_order: ClassVar[str] = "text"
    ignores_case: ClassVar[bool] = False
    keeps_schemas: ClassVar[bool] = True
    shares_snapshots: ClassVar[bool] = True
    exact_texts: ClassVar[Sequence[str]] = ("SET LOCAL extra_float_digits = 3",)

    @property
    def search_path(self) -> str:
        return f"{self.address.user} {dict(self.address.properties).get('currentSchema', '')}"

    # -- connections ----------------------------------------------------------------------------------------------

    def engine(self) -> Any:
        import psycopg
        import sqlalchemy as sa

        parameters = self.parameters()
        return sa.create_engine(
            "postgresql+psycopg://", creator=lambda: psycopg.connect(**parameters), poolclass=sa.pool.NullPool
        )

    def open(self, kind: str) -> Any:
        if kind != BULK:
            return super().open(kind)
        from psycopg.conninfo import make_conninfo

        return AdbcConnection(make_conninfo(**self.parameters()))

    def alive(self, connection: Any) -> bool:
        if hasattr(connection, "exec_driver_sql"):
            return super().alive(connection)
        try:
            self.first_row(connection, "SELECT 1")
            connection.rollback()
        except Exception:
            return False
        return True

    def export_snapshot(self, connection: Any) -> str:
        cursor = self.cursor(connection)
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        cursor.execute("SELECT pg_catalog.pg_export_snapshot()")
        return str(cursor.fetchone()[0])

    def parameters(self) -> dict[str, Any]:
        """Return libpq's connection parameters, including the password."""
        address = self.address
        found: dict[str, Any] = {
            "host": address.host,
            "port": address.port,
            "dbname": address.database,
            "connect_timeout": address.timeout_s,
            "application_name": "seatunnel",
        }
        if address.user is not None:
            found["user"] = address.user
        if address.password is not None:
            found["password"] = address.password
        settings = list(_SETTINGS)
        for name, value in address.properties:
            if name == "currentSchema":
                settings.append("-c search_path=" + value.replace(" ", ""))
            elif name == "options":
                settings.append(value)
            elif name == "ssl":
                found.setdefault("sslmode", "verify-full" if value.lower() in ("", "true") else "prefer")
            elif name == "socketTimeout" and int(value):  # time until a dead server is detected
                found["tcp_user_timeout"] = int(value) * 1000
            elif name == "targetServerType":
                found["target_session_attrs"] = ROLES[value.strip().lower()]
            elif name in LIBPQ or name not in PROPERTIES.idle | TRANSLATED:
                found[LIBPQ.get(name, name)] = value
        return {**found, "options": " ".join(settings)}

    def path(self, written: str) -> TablePath:
        parts = parts_of(written)
        if len(parts) > 3:
            raise ValueError(f"{written!r} is not a PostgreSQL table name; write schema.table")
        if len(parts) == 3 and parts[0] != self.address.database:
            raise ValueError(
                f"{written!r} is in the database {parts[0]}, but url opens {self.address.database}, and a "
                "PostgreSQL connection has only one database"
            )
        return parts[-2:]

    # -- reading --------------------------------------------------------------------------------------------------

    def columns(self, connection: Any, select: str) -> tuple[Column, ...]:
        return tuple(map(with_typed_array, self._columns(connection, select)))

    def _columns(self, connection: Any, select: str) -> tuple[Column, ...]:
        cursor = self.cursor(connection)
        cursor.execute(f"SELECT * FROM ({select}\n) AS seatunnel_rows LIMIT 0")
        described, result = cursor.description, cursor.pgresult
        oids = [column.type_code for column in described]
        modifiers = [result.fmod(number) for number in range(len(described))]
        cursor.execute(_COLUMNS, (oids, modifiers))
        return tuple(
            column_of(column.name, modifier, *found[1:])
            for column, modifier, found in zip(described, modifiers, cursor.fetchall(), strict=True)
        )

    def table(self, connection: Any, path: TablePath) -> DatabaseTable | None:
        cursor = self.cursor(connection)
        cursor.execute("SELECT pg_catalog.to_regclass(%s)::oid", (self.quoted(*path),))
        oid = cursor.fetchone()[0]
        if oid is None:
            return None
        cursor.execute(_NULLS, (oid,))
        said = {name: attributes for name, *attributes in cursor.fetchall()}
        cursor.execute(_KEYS, (oid,))
        keys = [(primary, tuple(names)) for primary, names in cursor.fetchall()]
        look = connection.begin_nested()  # the rollback releases its lock, which could deadlock with lock_table
        try:
            found = self._columns(connection, f"SELECT * FROM {self.quoted(*path)}")
        finally:
            look.rollback()
        return DatabaseTable(
            columns=tuple(_said(column, *said.get(column.name, (True, False, False))) for column in found),
            primary_key=next((names for primary, names in keys if primary), ()),
            unique_keys=tuple(names for _, names in keys),
        )

    def may_create(self, connection: Any, path: TablePath) -> bool | None:
        schema = self.literal(path[-2]) if len(path) > 1 else "current_schema()"
        asked = f"SELECT has_schema_privilege(oid, 'CREATE') FROM pg_catalog.pg_namespace WHERE nspname = {schema}"
        found = self.ask(connection, asked)
        return bool(found[0][0]) if found else None

    def tables(self, connection: Any, schema: str | None, prefix: str) -> list[str]:
        named = "current_schema()" if schema is None else self.literal(schema)
        asked = f"SELECT tablename::text FROM pg_catalog.pg_tables WHERE schemaname = {named}"
        found = self.ask(connection, f"{asked} AND starts_with(tablename::text, {self.literal(prefix)})")
        return [name for (name,) in found]

    def estimated_rows(self, connection: Any, path: TablePath) -> int | None:
        oid = f"pg_catalog.to_regclass({self.literal(self.quoted(*path))})"
        found = self.ask(connection, f"SELECT reltuples::bigint FROM pg_catalog.pg_class WHERE oid = {oid}")
        return int(found[0][0]) if found and found[0][0] > 0 else None

    def rises(self, ask: Asking, column: Column, borders: Sequence[str]) -> bool:
        """Compare the bounds on the server, because types read as strings may sort differently."""
        if not column.cast or column.order != OWN or len(borders) < 2:
            return True
        written = ", ".join(f"({number}, {quoted(border)}::{column.declared})" for number, border in enumerate(borders))
        pairs = f"SELECT v, lag(v) OVER (ORDER BY n) AS before FROM (VALUES {written}) AS seatunnel_borders (n, v)"
        return not ask(f"SELECT 1 FROM ({pairs}) AS seatunnel_pairs WHERE NOT before <= v LIMIT 1")

    def read(
        self, statement: str, columns: Sequence[Column], fetch_size: int, snapshot: str | None
    ) -> Generator[Fetched, None, None]:
        with self.pool.lend(BULK) as connection:
            self.execute(connection, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            if snapshot is not None:
                self.execute(connection, f"SET TRANSACTION SNAPSHOT {self.literal(snapshot)}")
            with closing(connection.read(statement)) as batches:
                for batch in batches:
                    for start in range(0, batch.num_rows, fetch_size):
                        yield rows_of(batch.slice(start, fetch_size), columns)

    # -- writing --------------------------------------------------------------------------------------------------

    def column_type(self, arrow: pa.DataType) -> Any:
        import sqlalchemy as sa

        if of.is_list(arrow) or of.is_large_list(arrow):
            if of.is_nested(arrow.value_type):
                raise TypeError(
                    "PostgreSQL arrays cannot contain nested values; convert the inner value to a string, such as JSON"
                )
            return sa.ARRAY(self.column_type(arrow.value_type))
        return column_type(arrow)

    def unstorable(self, values: pa.Array) -> tuple[pa.Array | None, str]:
        return before_4713_bc(values), "is before 4713 BC, the minimum of dates and timestamps in PostgreSQL"

    def place_types(self, connection: Any, statement: str) -> Sequence[str]:
        """Return the types that the server infers when it prepares the statement; ``text`` if it cannot infer one."""
        import psycopg

        cursor = self.cursor(connection)
        declared: dict[int, str] = {}
        cursor.execute("SAVEPOINT seatunnel_asked")
        while True:
            types = ", ".join(declared.get(number, "unknown") for number in range(1, max(declared, default=0) + 1))
            try:
                cursor.execute(f"PREPARE seatunnel_asked {f'({types})' if types else ''} AS {statement}")
                break
            except psycopg.errors.IndeterminateDatatype as error:
                cursor.execute("ROLLBACK TO seatunnel_asked")
                named = re.search(r"\$(\d+)", str(error))
                if named is None or int(named[1]) in declared:
                    return ()
                declared[int(named[1])] = "text"
        cursor.execute(
            "SELECT parameter_types::text[] FROM pg_catalog.pg_prepared_statements WHERE name = 'seatunnel_asked'"
        )
        found = cursor.fetchone()[0]
        cursor.execute("DEALLOCATE seatunnel_asked")
        return ["" if kind in _TAKES_TEXT else without_length(kind) for kind in found]

    def widen_column(self, connection: Any, path: TablePath, column: TableColumn, declared: str) -> str | None:
        name = self.quoted(column.name)
        return f"ALTER TABLE {self.quoted(*path)} ALTER COLUMN {name} TYPE {declared} USING {name}::{declared}"

    def moment(self, at: datetime) -> str:
        return self.literal(at.isoformat(" ", "microseconds"))

    def differ(self, one: str, other: str) -> str:
        """Return a condition that compares strings, because json values cannot be compared and citext ignores case."""
        return f"{one}::text IS DISTINCT FROM {other}::text"

    def row_image(self, columns: Sequence[TableColumn], of: str) -> str:
        names = ", ".join(f"{of}.{self.quoted(column.name)}" for column in columns)
        text = f"CAST(ROW({names}) AS text)"
        return f"pg_catalog.sha256(pg_catalog.convert_to({text}, pg_catalog.getdatabaseencoding()))"

    def create_table(
        self, path: TablePath, columns: pa.Schema, primary_key: Sequence[str], *, temporary: bool = False
    ) -> str:
        made = super().create_table(path, columns, primary_key, temporary=temporary)
        # IF NOT EXISTS ignores uncommitted tables of other transactions, and fails if there is one.
        return made if temporary else f"SELECT pg_catalog.pg_advisory_xact_lock({_CREATING}); {made}"

    def wait_for_locks(self, connection: Any, seconds: int) -> None:
        self.cursor(connection).execute(f"SET LOCAL lock_timeout = '{seconds}s'")

    def lock_table(self, connection: Any, path: TablePath, *, reads: bool = False) -> None:
        mode = "SHARE ROW EXCLUSIVE" if reads else "ACCESS EXCLUSIVE"
        self.cursor(connection).execute(f"LOCK TABLE {self.quoted(*path)} IN {mode} MODE")

    def lock_row(self, statement: str) -> str:
        return f"{statement} FOR UPDATE"

    def copy(self, connection: Any, path: TablePath, rows: pa.RecordBatch, *, temporary: bool) -> None:
        connection.add(rows, path[-1], schema=path[0] if len(path) > 1 else None, temporary=temporary)

    def insert(self, table: str, names: str) -> str:
        return f"INSERT INTO {table} ({names}) OVERRIDING SYSTEM VALUE"

    def execute(self, connection: Any, statement: str) -> None:
        connection.execute(statement)

    def first_row(self, connection: Any, statement: str) -> Sequence[Any] | None:
        rows = [list(row.values()) for batch in connection.read(statement) for row in batch.to_pylist()]
        return rows[0] if rows else None

    # -- failures -------------------------------------------------------------------------------------------------

    def message_of(self, error: BaseException) -> str:
        if _NO_COPY not in str(error):
            return super().message_of(error)
        return (
            "the target is a view, and COPY cannot write to views; set is_exactly_once = true to insert the rows with "
            "INSERT"
        )

    def may_pass(self, error: BaseException) -> bool:
        import psycopg
        from adbc_driver_manager import Error, OperationalError

        if not isinstance(error, psycopg.Error | Error):
            return False
        state = getattr(error, "sqlstate", None)
        if not state or state == "00000":
            said = str(error)
            return isinstance(error, psycopg.OperationalError | OperationalError) and not any(
                words in said for words in _REFUSED
            )
        return state.startswith(_PASSING) or self.is_full(error) or self.has_lost_snapshot(error)

    def is_full(self, error: BaseException) -> bool:
        no_room = "could not extend file" in str(error)  # A file system quota has no SQLSTATE.
        return no_room or getattr(error, "sqlstate", None) == "53100"

    def has_lost_snapshot(self, error: BaseException) -> bool:
        """Return True if the connection that holds the snapshot was lost; a pipeline restart exports a new snapshot."""
        return "snapshot" in str(error) and getattr(error, "sqlstate", None) in ("22023", "42704", "55000")

    def is_missing_table(self, error: BaseException) -> bool:
        return getattr(getattr(error, "orig", None) or error, "sqlstate", None) == "42P01"


def _said(column: Column, nullable: bool, filled: bool, generated: bool) -> Column:
    return evolve(column, nullable=nullable, filled=filled, generated=generated)
