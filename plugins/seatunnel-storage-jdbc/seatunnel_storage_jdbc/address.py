"""Address and login of the database in the key ``url``."""

from collections.abc import Mapping

from seatunnel_core.clients.jdbc import address
from seatunnel_core.clients.jdbc.address import Address
from seatunnel_storage_api.errors import StorageConfigurationError

__all__ = ["PASSWORD", "URL", "USER", "Address", "address_of"]

URL = "url"
USER = "user"
PASSWORD = "password"

_KINDS = ("postgresql", "mysql", "sqlite")


def address_of(configuration: Mapping[str, str]) -> Address:
    """Return the address in the keys ``url``, ``user`` and ``password``. Errors do not contain the URL."""
    user, password = configuration.get(USER), configuration.get(PASSWORD)
    try:
        found = address.address_of(configuration.get(URL) or "", _KINDS, user=user, password=password)
    except StorageConfigurationError as error:
        raise StorageConfigurationError(f"{URL}: {error}") from None
    if found.kind == "sqlite" and found.properties:
        raise StorageConfigurationError(f"{URL} has properties after '?', which SQLite does not support: remove them")
    if found.kind == "sqlite" and not found.database.startswith("/"):
        raise StorageConfigurationError(
            f"the path in {URL} is {found.database!r}, but it must be absolute: write {URL}: "
            "jdbc:sqlite:/var/lib/seatunnel.db"
        )
    return found
