"""Description of captured tables: their columns, keys and chunks."""

from collections.abc import Collection, Sequence
from typing import Any

from attrs import evolve

from seatunnel_core.connector_api.errors import SourceError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connectors.change_data.column_rules import EVERY_COLUMN, ColumnRules
from seatunnel_core.connectors.change_data.options import CONFIGURED_KEY, CONFIGURED_SPLIT_COLUMN
from seatunnel_core.connectors.jdbc import options as jdbc
from seatunnel_core.connectors.jdbc.column import DatabaseTable
from seatunnel_core.connectors.jdbc.databases.dialect import Dialect
from seatunnel_core.connectors.jdbc.reading import Found, Reading
from seatunnel_core.connectors.tables.table_path import TablePath


def captured_table(
    dialect: Dialect,
    connection: Any,
    path: TablePath,
    options: Options,
    *,
    configured: Options | None = None,
    columns: Collection[str] | None = None,
    rules: ColumnRules = EVERY_COLUMN,
    without_key: bool = False,
) -> Found:
    """Return a table with the columns that its log contains, as the ``Jdbc`` source reads it.

    Args:
        dialect: The database.
        connection: A connection of its pool.
        path: Path of the table, in the form of the dialect.
        options: Options of ``Jdbc``, from ``jdbc_options``.
        configured: Entry of the table in ``table-names-config``.
        columns: Columns in the log; ``None`` for all columns except generated ones.
        rules: Selection of columns.
        without_key: True to accept a table without a key.

    Raises:
        SourceError: The table does not exist or lacks a required key, a part of its key is not selected,
            or a configured column does not exist or is not part of the key.
    """
    own = {option.key: options[option] for option in options.declared if options.is_set(option)}
    own[jdbc.TABLE_PATH.key] = ".".join(path)
    if configured is not None and configured[CONFIGURED_SPLIT_COLUMN]:
        own[jdbc.PARTITION_COLUMN.key] = configured[CONFIGURED_SPLIT_COLUMN]
    reading = Reading(
        dialect=dialect, options=Options(own, jdbc.SOURCE_OPTIONS), path=path, query=None, where=""
    )  # fmt: skip
    found = reading.found(connection)
    logged = tuple(c for c in found.columns if (c.name in columns if columns is not None else not c.generated))
    found = evolve(found, columns=logged)
    keys: tuple[str, ...] = () if configured is None else configured[CONFIGURED_KEY] or ()
    if keys:
        for key in keys:
            found.column(key, "primaryKeys")
        table = found.table or DatabaseTable(columns=logged)
        found = evolve(found, table=evolve(table, primary_key=keys))
    if not found.schema().primary_key and not without_key:
        raise SourceError(
            f"the table {reading.name} has no primary key, so its rows cannot be identified in the log; add a key, "
            f'or write table-names-config = [{{ table = "{reading.name}", primaryKeys = ["…"] }}] with the columns '
            "that identify a row, or tables-without-key = capture, which applies changes to equal rows"
        )
    found = rules.selection(found)
    return _divided_by_key(found, None if configured is None else configured[CONFIGURED_SPLIT_COLUMN])


def later_tables(captured: Sequence[Found], tables: Sequence[Found]) -> str | None:
    """Return a warning about tables that match the options but are not captured; ``None`` if there are none."""
    names = {each.reading.name for each in captured}
    later = [each.reading.name for each in tables if each.reading.name not in names]
    if not later:
        return None
    return (
        f"the job does not capture {', '.join(later)}, because these tables were not selected when it started; "
        "start a new job to capture them"
    )


def _divided_by_key(found: Found, configured: str | None) -> Found:
    """Set the split column to a column of the key, or clear it.

    Chunks must be divided by the key, so that an update never moves a row to another chunk without changing its key.
    Otherwise, deleting the row from one chunk would also delete it from the other one.

    Raises:
        SourceError: The configured split column is not part of the key.
    """
    key = found.schema().primary_key
    if found.split_column is None or found.split_column.name in key:
        return found
    if configured:
        raise SourceError(
            f"option 'snapshotSplitColumn': {configured} is not a key column of {found.reading.name}; "
            + (
                f"expected one of {', '.join(key)}"
                if key
                else "a table without a key is read as one chunk, so remove this option"
            )
        )
    return evolve(found, split_column=None)
