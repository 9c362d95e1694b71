"""Save modes (``data_save_mode``, ``schema_save_mode``), applied to existing tables before the first row."""

from typing import Any

from seatunnel_core.connector_api.errors import SinkError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connectors.tables.database import TableDatabase
from seatunnel_core.connectors.tables.messages import not_empty
from seatunnel_core.connectors.tables.options import DATA_SAVE_MODE, SCHEMA_SAVE_MODE
from seatunnel_core.connectors.tables.table_path import TablePath


def empty_table(database: TableDatabase, connection: Any, path: TablePath, options: Options) -> bool:
    """Apply the mode to an existing table; return True if it still exists. Raise ``SinkError`` if it forbids rows."""
    data, table = options[DATA_SAVE_MODE.key], database.quoted(*path)
    if data == "ERROR_WHEN_DATA_EXISTS" and has_rows(database, connection, path):
        raise SinkError(not_empty(database.table_name(path)))
    if options[SCHEMA_SAVE_MODE.key] == "RECREATE_SCHEMA":
        database.run(connection, f"DROP TABLE {table}")
        return False
    if data == "DROP_DATA":
        database.run(connection, f"DELETE FROM {table}")
    return True


def has_rows(database: TableDatabase, connection: Any, path: TablePath) -> bool:
    """Return True if a table has rows."""
    return bool(database.ask(connection, f"SELECT 1 FROM {database.quoted(*path)} LIMIT 1"))
