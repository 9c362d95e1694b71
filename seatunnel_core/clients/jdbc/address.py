"""Database and user in a JDBC URL. Messages and ``repr`` never contain the password."""

import re
from collections.abc import Collection, Mapping
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from attrs import field, frozen

from seatunnel_storage_api import secret
from seatunnel_storage_api.errors import StorageConfigurationError

_KINDS = {"postgresql": "postgresql", "mysql": "mysql", "mariadb": "mysql", "sqlite": "sqlite", "duckdb": "duckdb"}
"""Kinds of databases, by the name after ``jdbc:``."""

_EXAMPLES = {
    "postgresql": "jdbc:postgresql://host:5432/database",
    "mysql": "jdbc:mysql://host:3306/database (jdbc:mariadb: too)",
    "sqlite": "jdbc:sqlite:/path",
    "duckdb": "jdbc:duckdb:/path",
}
_PORTS = {"postgresql": 5432, "mysql": 3306}
_ASSIGNED = re.compile(r"(?i)(password|pwd)=[^&\s]*")
_SWITCHES = ("true", "false")
_KEY_FILES = {"sslkey", "ssl_key"}
"""Properties that contain the path of a key file."""


@frozen(kw_only=True)
class Address:
    """A database, with the user and the properties to connect to it. Equal addresses share their connections."""

    kind: str
    """``postgresql``, ``mysql`` (also for MariaDB), ``sqlite`` or ``duckdb``."""

    host: str = ""
    port: int = 0
    database: str
    """Name of the database, or path of its file."""

    user: str | None = None
    password: str | None = field(default=None, repr=False)
    properties: tuple[tuple[str, str], ...] = field(default=(), repr=lambda properties: f"<{len(properties)} keys>")
    """Connection properties, sorted by name."""

    def __str__(self) -> str:
        where = f"{self.host}:{self.port}/{self.database}" if self.host else self.database
        return f"{self.kind} {where}"

    def hide(self, text: str) -> str:
        """Replace the password and secret properties with ``***`` in a string such as a driver's message."""
        secret_keys = {key for key, _ in self.properties if secret.holds_secret(key)} - _KEY_FILES
        kept = [value for key, value in self.properties if key in secret_keys and value.lower() not in _SWITCHES]
        secrets = [self.password or "", *kept]
        hidden = secret.masked(text, (*secrets, *(quote(each, safe="") for each in secrets)))
        return _ASSIGNED.sub(rf"\1={secret.HIDDEN}", hidden)


def address_of(
    url: str,
    kinds: Collection[str],
    *,
    user: str | None = None,
    password: str | None = None,
    properties: Mapping[str, str] | None = None,
) -> Address:
    """Parse a JDBC URL; ``user``, ``password`` and ``properties`` override those in the URL.

    Raises:
        StorageConfigurationError: The URL is invalid. The message shows the expected form but not the URL, which may
            contain a password. The caller adds the name of the option.
    """
    found = re.fullmatch(r"jdbc:([a-z0-9]+):(.*)", url, re.IGNORECASE | re.DOTALL)
    kind = _KINDS.get(found[1].lower()) if found else None
    if found is None or kind is None or kind not in kinds:
        said = f"begins with jdbc:{found[1]}:, which is not supported" if found else "is not the URL of a database"
        known = ", ".join(_EXAMPLES[each] for each in kinds)
        raise StorageConfigurationError(f"it {said if url else 'is missing'}; use {known}")
    host, port, database, query = _of_server(kind, found[2]) if kind in _PORTS else _of_file(kind, found[2])
    every = {**dict(parse_qsl(query, keep_blank_values=True)), **(properties or {})}
    own_user, own_password = every.pop("user", None), every.pop("password", None)
    return Address(
        kind=kind,
        host=host,
        port=port,
        database=database,
        user=user or own_user,
        password=password or own_password,
        properties=tuple(sorted(every.items())),
    )


def _of_file(kind: str, rest: str) -> tuple[str, int, str, str]:
    path, _, query = rest.partition("?")
    if not path:
        raise StorageConfigurationError(f"the path of the file is missing; use jdbc:{kind}:/path/to/file")
    return "", 0, path, query


def _of_server(kind: str, rest: str) -> tuple[str, int, str, str]:
    """Return the host, the port, the database and the properties after ``?``."""
    example = f"use jdbc:{kind}://host:{_PORTS[kind]}/database"
    try:
        parts = urlsplit(f"{kind}:{rest}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not rest.startswith("//") or not host:
        raise StorageConfigurationError(f"it contains no host; {example}")
    if parts.username is not None:
        raise StorageConfigurationError("it has a user before the host; set user and password separately instead")
    if "," in host:
        raise StorageConfigurationError(f"it has several hosts, but this version supports only one; {example}")
    database = unquote(parts.path.lstrip("/"))
    if not database:
        raise StorageConfigurationError(f"the database is missing; {example}")
    return host, port or _PORTS[kind], database, parts.query
