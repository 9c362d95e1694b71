"""Captured tables without a server."""

from seatunnel_core.connector_api.option import Options
from seatunnel_core.connectors.jdbc import options as jdbc
from seatunnel_core.connectors.jdbc.address import Address
from seatunnel_core.connectors.jdbc.column import DatabaseTable
from seatunnel_core.connectors.jdbc.databases.mysql import MySQL
from seatunnel_core.connectors.jdbc.databases.mysql_values import column_of
from seatunnel_core.connectors.jdbc.reading import Found, Reading

DIALECT = MySQL(Address(kind="mysql", host="h", port=1, database="shop", timeout_s=1), 2)


def table(name: str, key: str = "int", collation: str = "") -> Found:
    """A table with the key ``id`` and the column ``a``."""
    columns = (column_of("id", key, collation, nullable=False), column_of("a", "int"))
    options = Options({jdbc.TABLE_PATH.key: name}, jdbc.SOURCE_OPTIONS)
    reading = Reading(dialect=DIALECT, options=options, path=("shop", name), query=None, where="")
    found = DatabaseTable(columns=columns, primary_key=("id",))
    return Found(reading=reading, columns=columns, split_column=columns[0], table=found)
