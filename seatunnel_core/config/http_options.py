"""The options of ``seatunnel.yaml`` about the REST server of a cluster's nodes: where it listens, and who is let in."""

from enum import Enum
from typing import Any
from urllib.parse import urlsplit

from seatunnel_core.config.option import BOOLEAN, ENTRIES, ENUM, LIST, STRING, Option, OptionType, within

NO_SERVER = "only the nodes of a cluster (seatunnel-cluster) have a REST server"
_PORT = within(1, 65_535)


class Permission(Enum):
    """What a user of REST may be allowed to do."""

    LOOK = "look"
    """Every GET: jobs with their options, logs and figures."""

    CHECK = "check"
    """Encrypt a job; with ``submit``: check one, which runs its plugins as the node's user."""

    SUBMIT = "submit"
    RESTORE = "restore"
    """Submit a job that goes on from its latest checkpoint."""

    STOP = "stop"
    SAVEPOINT = "savepoint"
    """Take a savepoint, also while a job is stopped."""

    OPERATE = "operate"
    """Change levels of logs, and tags of nodes."""


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


ENABLE_HTTP = _flag("enable-http", "Whether a node serves REST v2 in the clear.")
HTTP_PORT = Option("http.port", _PORT, default=8080, doc="The port for that.", no_effect=NO_SERVER)
BIND_ADDRESS = _text(
    "bind-address",
    "The address on which both ports listen; `0.0.0.0` is all of this machine. Off loopback users have to be asked who "
    "they are.",
    default="127.0.0.1",
)
CONTEXT_PATH = _text("context-path", "The prefix of all paths, such as `/seatunnel`.", default="")
ENABLE_DYNAMIC_PORT = _flag("enable-dynamic-port", "Whether a node whose port is taken tries the next ones.")
PORT_RANGE = Option("http.port-range", _PORT, default=100, doc="How many ports are tried then.", no_effect=NO_SERVER)
ENABLE_HTTPS = _flag("enable-https", "Whether a node serves REST v2 with TLS.")
HTTPS_PORT = Option("http.https-port", _PORT, default=8443, doc="The port for that.", no_effect=NO_SERVER)
KEY_STORE_PATH = _text(
    "key-store-path", "The node's key with its certificates: PEM, PKCS12, or JKS, as the file itself says."
)
KEY_STORE_PASSWORD = _text("key-store-password", "Of the key store.", secret=True)
KEY_MANAGER_PASSWORD = _text(
    "key-manager-password", "Of the key in it, where that is another one than the store's.", secret=True
)
TRUST_STORE_PATH = _text(
    "trust-store-path",
    "Certificates of authorities, in one of these formats. Where they are named, each client has to show a certificate "
    "that one of them signed.",
)
TRUST_STORE_PASSWORD = _text("trust-store-password", "Of that file.", secret=True)
ENABLE_BASIC_AUTH = _flag("enable-basic-auth", "Whether users are asked for a name and a password.")
BASIC_AUTH_USERNAME = _text("basic-auth-username", "The name; `admin` where it is left out.")
BASIC_AUTH_PASSWORD = _text(
    "basic-auth-password", "The password; there is none that is taken for granted.", secret=True
)
USER_NAME = Option("username", STRING, required=True, doc="The name.")
USER_PASSWORD = Option("password", STRING, required=True, secret=True, doc="The password.")
USER_PERMISSIONS = Option(
    "permissions",
    LIST(ENUM(*(each.value for each in Permission))),
    required=True,
    doc="What he may do: " + ", ".join(f"`{each.value}`" for each in Permission) + ".",
)
USERS = Option(
    "http.users",
    ENTRIES(USER_NAME, USER_PASSWORD, USER_PERMISSIONS),
    default=(),
    doc="Further users, each with what he may do; the one of `basic-auth-username` may do everything.",
    no_effect=NO_SERVER,
    secret=True,
)
ALLOW_UNAUTHENTICATED = _flag(
    "allow-unauthenticated-access",
    "Whether everybody who reaches a port off loopback may do everything: submit jobs, which run as the node's user. "
    "Without it a node that would ask nobody does not start.",
)

HTTP: tuple[Option[Any], ...] = (
    *(ENABLE_HTTP, HTTP_PORT, BIND_ADDRESS, CONTEXT_PATH, ENABLE_DYNAMIC_PORT, PORT_RANGE),
    *(ENABLE_HTTPS, HTTPS_PORT, KEY_STORE_PATH, KEY_STORE_PASSWORD, KEY_MANAGER_PASSWORD),
    *(TRUST_STORE_PATH, TRUST_STORE_PASSWORD),
    *(ENABLE_BASIC_AUTH, BASIC_AUTH_USERNAME, BASIC_AUTH_PASSWORD, USERS),
    ALLOW_UNAUTHENTICATED,
)
"""Of ``seatunnel.engine``; they have an effect on nodes alone."""
