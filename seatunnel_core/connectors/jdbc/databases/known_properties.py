"""Checks of the properties in a URL, for each kind of database."""

from collections.abc import Callable, Mapping

from seatunnel_core.connectors.jdbc.databases import duckdb_properties
from seatunnel_core.connectors.jdbc.databases.mysql_properties import PROPERTIES as MYSQL
from seatunnel_core.connectors.jdbc.databases.postgresql_properties import PROPERTIES as POSTGRESQL
from seatunnel_core.connectors.jdbc.databases.sqlite_properties import PROPERTIES as SQLITE

CHECKS: Mapping[str, Callable[[tuple[tuple[str, str], ...]], None]] = {
    "postgresql": POSTGRESQL.require,
    "mysql": MYSQL.require,
    "sqlite": SQLITE.require,
    "duckdb": duckdb_properties.require,
}
"""Functions that raise ``UsageError`` for unsupported properties, with alternatives."""
