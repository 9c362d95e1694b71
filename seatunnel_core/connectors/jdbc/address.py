"""Address of a database, from the option ``url``, and the login."""

from collections.abc import Callable, Mapping

import attrs
from attrs import frozen

from seatunnel_core.clients.jdbc import address
from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connectors.jdbc import options as opt
from seatunnel_core.connectors.jdbc.databases import duckdb_properties
from seatunnel_core.connectors.jdbc.databases.mysql_properties import PROPERTIES as MYSQL
from seatunnel_core.connectors.jdbc.databases.postgresql_properties import PROPERTIES as POSTGRESQL
from seatunnel_core.connectors.jdbc.databases.sqlite_properties import PROPERTIES as SQLITE
from seatunnel_storage_api.errors import StorageConfigurationError

CHECKS: Mapping[str, Callable[[tuple[tuple[str, str], ...]], None]] = {
    "postgresql": POSTGRESQL.require,
    "mysql": MYSQL.require,
    "sqlite": SQLITE.require,
    "duckdb": duckdb_properties.require,
}
"""Functions that check the URL's properties, keyed by kind of database. They raise ``UsageError`` and suggest
alternatives."""


@frozen(kw_only=True)
class Address(address.Address):
    """Address of a database, with the user, the properties and the connection timeout."""

    timeout_s: int
    """Connection timeout, in seconds."""


def address_of(options: Options) -> Address:
    """Parse the address in the options of a source or a sink; raise ``UsageError`` for an invalid URL or property."""
    try:
        found = address.address_of(
            options[opt.URL],
            CHECKS,
            user=options[opt.USER],
            password=options[opt.PASSWORD],
            properties=options[opt.PROPERTIES],
        )
    except StorageConfigurationError as error:
        raise UsageError(f"option 'url': {error}") from None
    CHECKS[found.kind](found.properties)
    return Address(**attrs.asdict(found, recurse=False), timeout_s=max(1, options[opt.TIMEOUT]))
