"""Check of the properties of an address, by the kind of its database."""

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
    """Check that each property has an effect here, or changes nothing.

    Raises:
        UsageError: Some are not; the message lists all of them, each with what to write instead.
    """
    _CHECKS[kind](properties)
