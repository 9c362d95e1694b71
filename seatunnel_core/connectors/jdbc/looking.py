"""Dry run of a sink: read-only inspection of a database and its tables."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import ConnectorError, SinkError
from seatunnel_core.connectors.jdbc.databases.dialect import Dialect
from seatunnel_core.connectors.jdbc.modes import refuse_unmatchable
from seatunnel_core.connectors.jdbc.statement import Statement
from seatunnel_core.connectors.jdbc.target import Target, new_columns, target_of_statement, target_table
from seatunnel_core.connectors.tables.column_growth import Growth
from seatunnel_core.connectors.tables.messages import missing_table
from seatunnel_core.connectors.tables.table_path import TablePath


@frozen(kw_only=True)
class LookedMode:
    """Settings that determine which permissions a sink needs."""

    upserts: bool
    """True if a row replaces an existing row with the same key."""

    replaces: bool
    """True if the rows of the run replace all existing rows."""

    empties: bool
    """True if the existing rows are deleted when the job starts."""

    stages: bool
    """True if staging tables are created next to the target."""

    schema_mode: str
    """Value of ``schema_save_mode``."""

    history: tuple[str, ...]
    """History columns; empty if a row replaces the row with the same key."""

    whole: bool = False
    """True if changes apply to rows that are equal in all columns."""


def look_into(dialect: Dialect, look: Callable[[Any], Sequence[Sequence[str]]]) -> Sequence[str]:
    """Run ``look`` in a transaction that is rolled back, and return its findings; raise ``SinkError`` if it fails."""
    where = str(dialect.address)
    try:
        with dialect.pool.lend() as connection:
            found = look(connection)
            connection.rollback()
    except ConnectorError:
        raise
    except Exception as error:
        raise dialect.failed(SinkError, where, error) from error
    return [
        f"connected to {where} as {dialect.address.user or 'the default user'}",
        *(said for each in found for said in each),
    ]


def tried(dialect: Dialect, connection: Any, statement: Statement, schema: TableSchema) -> Target:
    """Run EXPLAIN for the user's statement with an empty staging table, and return the statement's target."""
    target_of_statement(dialect, statement, schema)
    places = dialect.place_types(connection, statement.asked())
    target = target_of_statement(dialect, statement, schema, places)
    cursor, name = dialect.cursor(connection), "seatunnel_tried"
    cursor.execute(target.staging_table(dialect, name, temporary=True))
    try:
        for each in target.moves(dialect, dialect.quoted(name), changes=False):
            cursor.execute(f"EXPLAIN {each}")
    finally:
        if dialect.ddl_commits:
            cursor.execute(dialect.drop_temporary(dialect.quoted(name)))
    connection.rollback()
    return target


def look_at_table(
    dialect: Dialect,
    growth: Growth,
    connection: Any,
    path: TablePath,
    schema: TableSchema,
    *,
    names: Mapping[str, str],
    keys: Sequence[str],
    mode: LookedMode,
) -> list[str]:
    """Return findings about a table and about the user's permissions for it.

    Raises:
        SinkError: The table cannot accept the rows, is missing and must not be created, or the user may not create
            tables.
        Exception: The driver's error for any other missing permission.
    """
    table, named = dialect.table(connection, path), dialect.table_name(path)
    if table is None and mode.schema_mode in ("ERROR_WHEN_SCHEMA_NOT_EXIST", "IGNORE"):
        raise SinkError(missing_table(named, mode.schema_mode))
    if table is None or mode.schema_mode == "RECREATE_SCHEMA":
        new_columns(dialect, evolve(schema, columns=growth.resolved(None, schema, names, keys).columns), names)
        return [f"the table {named} will be created", *_creating(dialect, connection, path)]
    schema = evolve(schema, columns=growth.resolved(table.columns, schema, names, keys).columns)
    names = {name: names[name] for name in schema.columns.names}
    grown, changes = growth.planned(connection, path, table.columns, schema, names, keys)
    growth.require_kept(connection, path, changes)
    how: Any = {"names": names, "keys": keys, "upserts": mode.upserts, "history": mode.history}
    target = target_table(dialect, connection, evolve(table, columns=grown), path, schema, **how)
    there = [name for name in target.names if table.column(name) is not None]
    by_key = bool(keys) and mode.upserts and not mode.replaces
    if mode.whole:
        refuse_unmatchable(dialect, target, table, schema)
    deletes = mode.replaces or mode.empties or mode.whole or (by_key and not target.unique)
    updates = bool(mode.history) or (by_key and target.unique)
    rights = ["INSERT", *["UPDATE"] * updates, *["DELETE"] * deletes]
    _require(dialect, connection, path, there, rights)
    found = [f"the table {named} exists and has all {len(names)} columns"]
    if changes:
        shown = ", and ".join(change.description for change in changes)
        found = [f"the table {named} exists; when the job starts, it {shown}"]
    found.append(f"{_who(dialect)} may {' and '.join(rights)} there")
    if changes:
        found.append(f"whether {_who(dialect)} may ALTER the table was not checked")
    return [*found, *(_creating(dialect, connection, path[-1:]) if mode.stages or dialect.one_writer else ())]


def look_at_keys(dialect: Dialect, connection: Any, path: TablePath, names: Sequence[str] | None) -> list[str]:
    """Return findings about permissions for deleting rows by key; ``names`` is ``None`` if the table is missing."""
    named = dialect.table_name(path)
    if names is None:
        return [f"the table {named} does not exist yet"]
    _require(dialect, connection, path, names, ["DELETE"])
    found = [f"the table {named} exists", f"{_who(dialect)} may DELETE there"]
    return [*found, *_creating(dialect, connection, path[-1:])]


def _require(dialect: Dialect, connection: Any, path: TablePath, columns: Sequence[str], rights: Sequence[str]) -> None:
    """Check permissions with EXPLAIN; raise the driver's exception if one is missing."""
    if not columns:
        return
    table, listed = dialect.quoted(*path), ", ".join(map(dialect.quoted, columns))
    statements = {
        "INSERT": f"INSERT INTO {table} ({listed}) VALUES ({', '.join(['NULL'] * len(columns))})",
        "UPDATE": f"UPDATE {table} SET {dialect.quoted(columns[0])} = NULL WHERE 1 = 0",
        "DELETE": f"DELETE FROM {table} WHERE 1 = 0",
    }
    for right in rights:
        dialect.ask(connection, f"EXPLAIN {statements[right]}")


def _creating(dialect: Dialect, connection: Any, path: TablePath) -> list[str]:
    """Return findings about the permission to create tables next to the target; raise ``SinkError`` if it is denied."""
    where = dialect.table_name(path).rpartition(".")[0] or str(dialect.address)
    may = dialect.may_create(connection, path)
    if may is False:
        raise SinkError(
            f"{dialect.address}: {_who(dialect)} may not create tables in {where}, but this sink must create tables "
            "there"
        )
    creates = f"{_who(dialect)} may create tables in {where}"
    return [creates if may else f"whether {creates} was not checked"]


def _who(dialect: Dialect) -> str:
    return dialect.address.user or "the current user"
