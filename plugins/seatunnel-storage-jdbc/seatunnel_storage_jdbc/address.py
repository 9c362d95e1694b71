"""The database of a JDBC ``url`` and its user. No message and no ``repr`` contains a password."""

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from attrs import field, frozen

from seatunnel_storage_api import secret
from seatunnel_storage_api.errors import StorageConfigurationError

URL = "url"
USER = "user"
PASSWORD = "password"

KINDS = {"postgresql": "postgresql", "mysql": "mysql", "mariadb": "mysql", "sqlite": "sqlite"}
"""Kind of database, by the name after ``jdbc:``."""

_PORTS = {"postgresql": 5432, "mysql": 3306}
_KNOWN = "jdbc:postgresql://host:5432/database, jdbc:mysql://host:3306/database (jdbc:mariadb: too), jdbc:sqlite:/path"


@frozen(kw_only=True)
class Address:
    """A database, with the user and the properties to open it. Equal addresses share their connections."""

    kind: str
    """A value of ``KINDS``."""

    host: str = ""
    port: int = 0
    database: str
    """Name of the database, or absolute path of the file."""

    user: str | None = None
    password: str | None = field(default=None, repr=False)
    properties: tuple[tuple[str, str], ...] = field(default=(), repr=lambda properties: f"<{len(properties)} keys>")
    """The properties after ``?`` in the url."""

    def __str__(self) -> str:
        where = f"{self.host}:{self.port}/{self.database}" if self.host else self.database
        return f"{self.kind} {where}"

    def hide(self, text: str) -> str:
        """Return a text, such as a driver's message, with ``***`` in place of the password and of secret properties."""
        secrets = [self.password or "", *(value for key, value in self.properties if secret.holds_secret(key))]
        return secret.masked(text, (*secrets, *(quote(each, safe="") for each in secrets)))


def address_of(configuration: Mapping[str, str]) -> Address:
    """Return the address in the keys ``url``, ``user`` and ``password``.

    Raises:
        StorageConfigurationError: The url is missing or invalid; the message shows the expected form without the url,
            since a url may contain a password.
    """
    url = configuration.get(URL) or ""
    found = re.fullmatch(r"jdbc:([a-z0-9]+):(.*)", url, re.IGNORECASE | re.DOTALL)
    kind = KINDS.get(found[1].lower()) if found else None
    if found is None or kind is None:
        said = f"begins with jdbc:{found[1]}:, which is not supported" if found else "names no database"
        raise StorageConfigurationError(f"{URL} {'is missing' if not url else said}: write {URL}: {_KNOWN}")
    return _of_server(kind, found[2], configuration) if kind in _PORTS else _of_file(found[2])


def _of_file(rest: str) -> Address:
    path, _, question = rest.partition("?")
    if question:
        raise StorageConfigurationError(f"{URL} has properties after '?', which SQLite does not support: remove them")
    if not path.startswith("/"):
        raise StorageConfigurationError(
            f"the path in {URL} is {path!r}, but it must be absolute: write {URL}: jdbc:sqlite:/var/lib/seatunnel.db"
        )
    return Address(kind="sqlite", database=path)


def _of_server(kind: str, rest: str, configuration: Mapping[str, str]) -> Address:
    example = f"write {URL}: jdbc:{kind}://host:{_PORTS[kind]}/database"
    try:
        parts = urlsplit(f"{kind}:{rest}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not rest.startswith("//") or not host:
        raise StorageConfigurationError(f"no host was found in {URL}: {example}")
    if parts.username is not None:
        raise StorageConfigurationError(
            f"{URL} has a user before the host: write the keys {USER} and {PASSWORD} instead"
        )
    if "," in host:
        raise StorageConfigurationError(f"{URL} has several hosts, but this version supports only one: {example}")
    database = unquote(parts.path.lstrip("/"))
    if not database:
        raise StorageConfigurationError(f"{URL} has no database after the host: {example}")
    properties = dict(parse_qsl(parts.query, keep_blank_values=True))
    user, password = properties.pop(USER, None), properties.pop(PASSWORD, None)
    return Address(
        kind=kind,
        host=host,
        port=port or _PORTS[kind],
        database=database,
        user=configuration.get(USER) or user,
        password=configuration.get(PASSWORD) or password,
        properties=tuple(sorted(properties.items())),
    )
