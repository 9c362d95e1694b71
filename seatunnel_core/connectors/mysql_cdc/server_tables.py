"""Tables of a server, from which the options select those to capture."""

import re

from attrs import evolve

from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connectors.change_data import options as shared
from seatunnel_core.connectors.change_data.captured_table import captured_table
from seatunnel_core.connectors.change_data.column_rules import ColumnRules
from seatunnel_core.connectors.change_data.table_choice import TableChoice, named
from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.connectors.mysql_cdc import options as opt
from seatunnel_core.connectors.mysql_cdc.server import Server
from seatunnel_core.connectors.mysql_cdc.table_checks import require_transactions
from seatunnel_core.connectors.tables.table_path import TablePath

_SYSTEM = ("mysql", "information_schema", "performance_schema", "sys")


def database_pattern(options: Options) -> re.Pattern[str]:
    """Return the pattern for the names of selected databases."""
    names = options[shared.DATABASE_NAMES]
    if names:
        return re.compile("|".join(map(re.escape, names)))
    try:
        return re.compile(options[opt.DATABASE_PATTERN])
    except re.error as error:
        raise UsageError(f"option {opt.DATABASE_PATTERN.key!r}: not a regular expression: {error}") from None


def listed_tables(server: Server, databases: re.Pattern[str]) -> list[TablePath]:
    """Return the tables of the databases with matching names, sorted."""
    excluded = ", ".join(f"'{name}'" for name in _SYSTEM)
    asked = (
        "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE' AND "
        f"TABLE_SCHEMA NOT IN ({excluded}) ORDER BY TABLE_SCHEMA, TABLE_NAME"
    )
    rows = [(str(database), str(name)) for database, name in server.ask(asked)]
    return [path for path in rows if databases.fullmatch(path[0])]


def chosen_tables(
    server: Server, databases: re.Pattern[str], options: Options, jdbc: Options, rules: ColumnRules
) -> list[Found]:
    """Return the tables to capture, sorted by name.

    Args:
        server: The server.
        databases: Pattern for the names of selected databases.
        options: Options of the source.
        jdbc: Options of ``Jdbc``, from ``jdbc_options``.
        rules: Selection of columns.
    """
    listed = listed_tables(server, databases)
    configured = {named(each[shared.CONFIGURED_TABLE], listed): each for each in options[shared.TABLE_CONFIG] or ()}
    without_key = shared.captures_without_key(options)
    found = []
    for path in sorted(TableChoice.of(options).chosen(listed), key=".".join):
        with server.connection(f"the table {'.'.join(path)} cannot be read") as connection:
            every = server.dialect.table(connection, path)
            require_transactions(server.dialect, path, every)
            found.append(
                captured_table(
                    server.dialect,
                    connection,
                    path,
                    jdbc,
                    configured=configured.get(path),
                    columns=None if every is None else {column.name for column in every.columns},
                    rules=rules,
                    without_key=without_key,
                )
            )
    return found


def for_tasks(found: Found) -> Found:
    """Return the table without data that only the driver needs."""
    table = found.table
    if table is None:
        return found
    columns = table.columns if len(table.columns) > len(found.columns) else ()
    return evolve(found, table=evolve(table, columns=columns, unique_keys=()))
