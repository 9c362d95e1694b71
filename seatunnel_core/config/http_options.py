"""Options of ``seatunnel.yaml`` for the REST server of cluster nodes: addresses and authentication."""

from enum import Enum
from typing import Any
from urllib.parse import urlsplit

from seatunnel_core.config.option import BOOLEAN, ENTRIES, ENUM, LIST, STRING, Option, OptionType, within

NO_SERVER = "only the nodes of a cluster (seatunnel-cluster) have a REST server"
_PORT = within(1, 65_535)


class Permission(Enum):
    """Permissions of a REST user."""

    LOOK = "look"
    """Send GET requests: show jobs with their options, logs and metrics."""

    CHECK = "check"
    """Encrypt a job file. With ``submit``, also check a job, which runs its plugins as the node's user."""

    SUBMIT = "submit"
    RESTORE = "restore"
    """Submit a job that resumes from its latest checkpoint."""

    STOP = "stop"
    SAVEPOINT = "savepoint"
    """Take savepoints, including savepoints that stop a job."""

    OPERATE = "operate"
    """Change log levels and tags of nodes."""


def _http_url(written: Any) -> str:
    url = urlsplit(str(written))
    if url.scheme not in ("http", "https") or not url.hostname:
        raise ValueError("expected an address that begins with http:// or https://")
    return str(written)


HTTP_URL = OptionType(name="address of HTTP", parse=_http_url, textual=True)


def _flag(key: str, doc: str) -> Option[Any]:
    return Option(f"http.{key}", BOOLEAN, default=False, doc=doc, no_effect=NO_SERVER)


def _text(key: str, doc: str, *, default: str | None = None, secret: bool = False) -> Option[Any]:
    return Option(f"http.{key}", STRING, default=default, doc=doc, no_effect=NO_SERVER, secret=secret)


ENABLE_HTTP = _flag("enable-http", "Serve REST v2 without TLS.")
HTTP_PORT = Option("http.port", _PORT, default=8080, doc="Port of REST v2.", no_effect=NO_SERVER)
BIND_ADDRESS = _text(
    "bind-address",
    "Address on which both ports listen; `0.0.0.0` for all interfaces. Addresses other than loopback require "
    "authentication.",
    default="127.0.0.1",
)
CONTEXT_PATH = _text("context-path", "Prefix of all paths, such as `/seatunnel`.", default="")
ENABLE_DYNAMIC_PORT = _flag("enable-dynamic-port", "Try the next ports if the port is taken.")
PORT_RANGE = Option("http.port-range", _PORT, default=100, doc="Number of ports tried.", no_effect=NO_SERVER)
ENABLE_HTTPS = _flag("enable-https", "Serve REST v2 with TLS.")
HTTPS_PORT = Option("http.https-port", _PORT, default=8443, doc="Port of REST v2.", no_effect=NO_SERVER)
KEY_STORE_PATH = _text(
    "key-store-path", "File with the node's key and certificates: PEM, PKCS12 or JKS, detected from its content."
)
KEY_STORE_PASSWORD = _text("key-store-password", "Password of the key store.", secret=True)
KEY_MANAGER_PASSWORD = _text(
    "key-manager-password", "Password of the key, if it differs from the password of the key store.", secret=True
)
TRUST_STORE_PATH = _text(
    "trust-store-path",
    "File with CA certificates, in one of these formats. If set, each client must present a certificate signed by one "
    "of these CAs.",
)
TRUST_STORE_PASSWORD = _text("trust-store-password", "Password of the trust store.", secret=True)
ENABLE_BASIC_AUTH = _flag("enable-basic-auth", "Require a user name and a password.")
BASIC_AUTH_USERNAME = _text("basic-auth-username", "User name; `admin` by default.")
BASIC_AUTH_PASSWORD = _text("basic-auth-password", "Password; there is no default.", secret=True)
USER_NAME = Option("username", STRING, required=True, doc="The name.")
USER_PASSWORD = Option("password", STRING, required=True, secret=True, doc="The password.")
USER_PERMISSIONS = Option(
    "permissions",
    LIST(ENUM(*(each.value for each in Permission))),
    required=True,
    doc="Permissions of the user: " + ", ".join(f"`{each.value}`" for each in Permission) + ".",
)
USERS = Option(
    "http.users",
    ENTRIES(USER_NAME, USER_PASSWORD, USER_PERMISSIONS),
    default=(),
    doc="Further users with their permissions; the user of `basic-auth-username` has all permissions.",
    no_effect=NO_SERVER,
    secret=True,
)
ALLOW_UNAUTHENTICATED = _flag(
    "allow-unauthenticated-access",
    "Allow unauthenticated access from other machines, with all permissions: submitted jobs run as the node's user. "
    "By default, a node without authentication starts only on a loopback address.",
)

HTTP: tuple[Option[Any], ...] = (
    *(ENABLE_HTTP, HTTP_PORT, BIND_ADDRESS, CONTEXT_PATH, ENABLE_DYNAMIC_PORT, PORT_RANGE),
    *(ENABLE_HTTPS, HTTPS_PORT, KEY_STORE_PATH, KEY_STORE_PASSWORD, KEY_MANAGER_PASSWORD),
    *(TRUST_STORE_PATH, TRUST_STORE_PASSWORD),
    *(ENABLE_BASIC_AUTH, BASIC_AUTH_USERNAME, BASIC_AUTH_PASSWORD, USERS),
    ALLOW_UNAUTHENTICATED,
)
"""Options of ``seatunnel.engine`` that only nodes use."""
