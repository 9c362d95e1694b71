"""What a node is told about REST v2: where it listens, with which certificate, and who is let in."""

import ipaddress
import logging
import re
from pathlib import Path

from attrs import field, frozen

from seatunnel_core.config import http_options
from seatunnel_core.config.http_options import Permission
from seatunnel_core.config.option import Options
from seatunnel_core.control.signing import SECRET_FILE
from seatunnel_core.errors import UsageError
from seatunnel_core.findings import Findings
from seatunnel_core.server.discovery.own_address import LOOPBACK

logger = logging.getLogger("seatunnel.cluster")

_CONTEXT_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)*")


@frozen(kw_only=True)
class KeyStore:
    """A file with keys or certificates, and what opens it."""

    path: Path
    password: str | None = field(default=None, repr=False)
    key_password: str | None = field(default=None, repr=False)
    """Of the key in it; ``None``: that of the store."""


@frozen(kw_only=True)
class User:
    """Who may use REST, beside the user who may do everything."""

    name: str
    password: str = field(repr=False)
    permissions: frozenset[Permission]


@frozen(kw_only=True)
class HttpConfig:
    """REST v2 of a node. Both ports listen on one address; without a port nothing does."""

    port: int | None = None
    """In the clear."""

    https_port: int | None = None
    """With TLS."""

    bind: str = LOOPBACK
    port_count: int = 1
    """So many ports are tried."""

    context_path: str = ""
    """Before all paths; empty, or begins with ``/`` and ends without."""

    login: tuple[str, str] | None = field(default=None, repr=False)
    """User and password; ``None``: nobody is asked for them."""

    users: tuple[User, ...] = ()
    """Who may use it, beside the one of ``login``."""

    is_open: bool = False
    """Whether who comes from another machine is let in though nobody asks him who he is: the operator said so."""

    key_store: KeyStore | None = None
    trust_store: KeyStore | None = None
    """The authorities of clients' certificates; ``None``: clients need none."""

    @property
    def is_local(self) -> bool:
        """Whether only this machine reaches its ports."""
        return ipaddress.ip_address(self.bind).is_loopback


def http_config(options: Options, *, has_secret: bool, port: int | None = None) -> HttpConfig:
    """Return what the options of a node say of REST.

    Args:
        options: of the engine's file.
        has_secret: whether the cluster has one, so that the member port asks for signatures.
        port: of REST in the clear, whether ``http.enable-http`` is set or not.

    Raises:
        UsageError: what they say does not go together, or would let everybody in without saying so; the message has
            all findings.
    """
    findings = Findings()
    found = HttpConfig(
        port=port or (int(options[http_options.HTTP_PORT]) if options[http_options.ENABLE_HTTP] else None),
        https_port=int(options[http_options.HTTPS_PORT]) if options[http_options.ENABLE_HTTPS] else None,
        bind=findings.of(lambda: _address(str(options[http_options.BIND_ADDRESS])), LOOPBACK),
        port_count=int(options[http_options.PORT_RANGE]) if options[http_options.ENABLE_DYNAMIC_PORT] else 1,
        context_path=findings.of(lambda: _context_path(str(options[http_options.CONTEXT_PATH] or "")), ""),
        login=findings.of(lambda: _login(options, has_secret=has_secret), None),
        users=findings.of(lambda: _users(options), ()),
        is_open=bool(options[http_options.ALLOW_UNAUTHENTICATED]),
        key_store=findings.of(lambda: _key_store(options), None),
        trust_store=findings.of(lambda: _trust_store(options), None),
    )
    findings.raise_all()
    _require_asked(found)
    return found


def _address(written: str) -> str:
    """Return the address on which to listen.

    Raises:
        UsageError: it is none: a name may be another machine tomorrow.
    """
    text = LOOPBACK if written == "localhost" else written.strip("[]")
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise UsageError(
            f"http.bind-address is {written!r}: write an address of this machine, 0.0.0.0 for all of them, or 127.0.0.1"
        ) from None


def _context_path(written: str) -> str:
    """Return the prefix of all paths, without a slash at its end.

    Raises:
        UsageError: it has characters that a path would have to escape.
    """
    parts = [part for part in written.split("/") if part]
    path = "".join(f"/{part}" for part in parts)
    if not _CONTEXT_PATH.fullmatch(path):
        raise UsageError(f"http.context-path is {written!r}: write letters, digits and . _ ~ - between slashes")
    return path


def _login(options: Options, *, has_secret: bool) -> tuple[str, str] | None:
    """Return who may use REST.

    Raises:
        UsageError: there is no password; or there is no secret, so that the member port would ask nobody.
    """
    if not options[http_options.ENABLE_BASIC_AUTH]:
        return None
    user = options[http_options.BASIC_AUTH_USERNAME] or "admin"
    password = options[http_options.BASIC_AUTH_PASSWORD] or ""
    if ":" in user:
        raise UsageError("http.basic-auth-username has a colon, which no name of basic authentication can have")
    if password in ("", "admin"):
        raise UsageError("http.basic-auth-password is not set, or is admin, which everybody knows: set another one")
    if not has_secret:
        raise UsageError(
            f"http.enable-basic-auth asks users for a password, and without config/{SECRET_FILE} the member port asks "
            "nobody. Write one with `seatunnel-cluster --make-secret`"
        )
    return user, password


def _users(options: Options) -> tuple[User, ...]:
    """Return the further users.

    Raises:
        UsageError: one has an empty name or password, or the name of another one; or nobody is asked who he is.
    """
    entries = options[http_options.USERS]
    if entries and not options[http_options.ENABLE_BASIC_AUTH]:
        raise UsageError("http.users are asked for passwords by http.enable-basic-auth: set it")
    names = {options[http_options.BASIC_AUTH_USERNAME] or "admin"}
    found = []
    findings = Findings()
    for number, entry in enumerate(entries, 1):
        name, password = str(entry[http_options.USER_NAME]), str(entry[http_options.USER_PASSWORD])
        with findings.part():
            if not name or not password:
                raise UsageError(f"the username or the password of entry {number} of http.users is empty")
            if ":" in name or name in names:
                raise UsageError(f"the username of entry {number} of http.users has a colon, or is another user's")
        names.add(name)
        permissions = frozenset(map(Permission, entry[http_options.USER_PERMISSIONS]))
        if Permission.CHECK in permissions and Permission.SUBMIT not in permissions:
            logger.warning(
                "http.users: %s may encrypt jobs, but not check them: a check reads files and calls functions as this "
                "node's user, so it needs the permission submit, too",
                name,
            )
        found.append(User(name=name, password=password, permissions=permissions))
    findings.raise_all()
    return tuple(found)


def _key_store(options: Options) -> KeyStore | None:
    if not options[http_options.ENABLE_HTTPS]:
        return None
    path = options[http_options.KEY_STORE_PATH]
    if not path:
        raise UsageError(
            "http.enable-https needs http.key-store-path: the node's key and certificates, PEM, PKCS12 or JKS"
        )
    return KeyStore(
        path=Path(path),
        password=options[http_options.KEY_STORE_PASSWORD],
        key_password=options[http_options.KEY_MANAGER_PASSWORD],
    )


def _trust_store(options: Options) -> KeyStore | None:
    path = options[http_options.TRUST_STORE_PATH]
    if not path:
        return None
    if not options[http_options.ENABLE_HTTPS]:
        raise UsageError("http.trust-store-path asks clients for certificates, which only http.enable-https can do")
    return KeyStore(path=Path(path), password=options[http_options.TRUST_STORE_PASSWORD])


def _require_asked(config: HttpConfig) -> None:
    """Refuse a port that other machines reach and that asks nobody who he is, unless the operator says so.

    Raises:
        UsageError: there is one.
    """
    if config.is_local:
        return
    unasked = [port for port in (config.port,) if port is not None]
    if config.trust_store is None and config.https_port is not None:
        unasked.append(config.https_port)
    if config.login is not None or not unasked:
        if config.login is not None and config.port is not None:
            logger.warning(
                "http.enable-http on %s: passwords cross the network in the clear; http.enable-https encrypts them",
                config.bind,
            )
        return
    ports = " and ".join(map(str, unasked))
    if config.is_open:
        logger.warning(
            "http.allow-unauthenticated-access: whoever reaches port %s of %s may run anything as this user",
            ports,
            config.bind,
        )
        return
    raise UsageError(
        f"http.bind-address is {config.bind}, and REST on port {ports} would ask nobody who he is: whoever reaches "
        "it could run anything as this user. Set http.enable-basic-auth with a password, or leave out http.enable-http "
        "and name http.trust-store-path so that clients need a certificate; or, if that is what you want, set "
        "http.allow-unauthenticated-access: true"
    )
