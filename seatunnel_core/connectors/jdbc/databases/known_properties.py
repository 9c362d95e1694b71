"""Check of the properties in a URL, by the kind of database."""

from collections.abc import Callable, Mapping

from seatunnel_core.connectors.jdbc.databases import duckdb_properties
from seatunnel_core.connectors.jdbc.databases.mysql_properties import PROPERTIES as MYSQL
from seatunnel_core.connectors.jdbc.databases.postgresql_properties import PROPERTIES as POSTGRESQL
from seatunnel_core.connectors.jdbc.databases.sqlite_properties import PROPERTIES as SQLITE

Properties = tuple[tuple[str, str], ...]

_CHECKS: Mapping[str, Callable[[Properties], None]] = {
    "mysql": MYSQL.require,
    "postgresql": POSTGRESQL.require,
    "sqlite": SQLITE.require,
    "duckdb": duckdb_properties.require,
}


def require_known(kind: str, properties: Properties) -> None:
    """Check that each property is supported or has no effect.

    Raises:
        UsageError: Some are not; the message lists all of them with alternatives.
    """
    _CHECKS[kind](properties)
