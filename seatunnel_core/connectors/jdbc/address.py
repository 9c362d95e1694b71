"""The database in a ``url`` of JDBC, and the user that connects to it.

Passwords do not appear in messages or in ``repr``.
"""

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, unquote, urlsplit

from attrs import field, frozen

from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connectors.jdbc import options as opt
from seatunnel_core.connectors.jdbc.databases.known_properties import require_known
from seatunnel_storage_api.secret import masked

KINDS = {"postgresql": "postgresql", "mysql": "mysql", "mariadb": "mysql", "sqlite": "sqlite", "duckdb": "duckdb"}
"""Scheme after ``jdbc:``, and its dialect."""

_PORTS = {"postgresql": 5432, "mysql": 3306}

_SECRET = re.compile(r"(?i)(password|pwd)=[^&\s]*")


@frozen(kw_only=True)
class Address:
    """A database, with the user, the properties and the timeout for connecting to it.

    Equal addresses share a pool of connections.
    """

    kind: str
    """A value of ``KINDS``."""

    host: str = ""
    port: int = 0
    database: str
    """Name of the database, or path of its file."""

    user: str | None
    password: str | None = field(repr=False)
    properties: tuple[tuple[str, str], ...] = field(repr=False)
    """Properties from the URL and the option ``properties``, sorted by name."""

    timeout_s: int
    """Timeout for connecting, in seconds."""

    def __str__(self) -> str:
        where = f"{self.host}:{self.port}/{self.database}" if self.host else self.database
        return f"{self.kind} {where}"

    def hide(self, text: str) -> str:
        """Return the text with ``***`` in place of each password."""
        hidden = _SECRET.sub(r"\1=***", text)
        return masked(hidden, (self.password or "", _quoted(self.password or "")))


def address_of(options: Options) -> Address:
    """Return the address in the options of a source or a sink.

    Raises:
        UsageError: The URL is invalid; the message shows the expected form.
    """
    url = options[opt.URL]
    found = re.match(r"jdbc:([a-z0-9]+):(.*)", url, re.IGNORECASE | re.DOTALL)
    kind = KINDS.get(found[1].lower()) if found else None
    if found is None or kind is None:
        named = f"jdbc:{found[1]}:" if found else "it"
        raise UsageError(
            f"option 'url': {named} is not supported; supported are jdbc:postgresql://host:5432/database, "
            "jdbc:mysql://host:3306/database (jdbc:mariadb: too), jdbc:sqlite:/path and jdbc:duckdb:/path"
        )
    properties = dict(options[opt.PROPERTIES] or {})
    if kind in _PORTS:
        host, port, database, written = _of_server(kind, found[2])
    else:
        host, port = "", 0
        database, _, question = found[2].partition("?")
        written = dict(parse_qsl(question, keep_blank_values=True))
        if not database:
            raise UsageError(f"option 'url': the path of the file is missing; write jdbc:{kind}:/path/to/file")
    properties = {**written, **properties}
    user = options[opt.USER] or properties.get("user")
    password = options[opt.PASSWORD] or properties.get("password")
    kept = tuple(sorted((key, value) for key, value in properties.items() if key not in ("user", "password")))
    require_known(kind, kept)
    return Address(
        kind=kind,
        host=host,
        port=port,
        database=database,
        user=user,
        password=password,
        properties=kept,
        timeout_s=max(1, options[opt.TIMEOUT]),
    )


def _of_server(kind: str, rest: str) -> tuple[str, int, str, Mapping[str, str]]:
    try:
        parts = urlsplit(f"{kind}:{rest}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not rest.startswith("//") or not host:
        raise UsageError(f"option 'url': no host was found in it; write jdbc:{kind}://host:{_PORTS[kind]}/database")
    if parts.username is not None:
        raise UsageError("option 'url': it has a user before the host; write the options user and password instead")
    if "," in host:
        raise UsageError("option 'url': it has several hosts, but this version supports only one")
    database = unquote(parts.path.lstrip("/"))
    if not database:
        raise UsageError(
            f"option 'url': the database is missing; write jdbc:{kind}://{host}:{port or _PORTS[kind]}/name"
        )
    return host, port or _PORTS[kind], database, dict(parse_qsl(parts.query, keep_blank_values=True))


def _quoted(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="")
