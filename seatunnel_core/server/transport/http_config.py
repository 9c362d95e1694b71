"""Configuration of REST v2: addresses, ports, TLS and users."""

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
    """A file with keys or certificates, and its passwords."""

    path: Path
    password: str | None = field(default=None, repr=False)
    key_password: str | None = field(default=None, repr=False)
    """Password of the key; ``None`` if it equals the password of the store."""


@frozen(kw_only=True)
class User:
    """A REST user with limited permissions."""

    name: str
    password: str = field(repr=False)
    permissions: frozenset[Permission]


@frozen(kw_only=True)
class HttpConfig:
    """Configuration of REST v2 on a node. HTTP and HTTPS listen on the same address. Without a port, REST v2 is off."""

    port: int | None = None
    """Plain HTTP port."""

    https_port: int | None = None

    bind: str = LOOPBACK
    port_count: int = 1
    """Number of consecutive ports to try."""

    context_path: str = ""
    """Prefix of all paths; empty, or with a leading and no trailing ``/``."""

    login: tuple[str, str] | None = field(default=None, repr=False)
    """User and password with all permissions; ``None`` if basic authentication is off."""

    users: tuple[User, ...] = ()
    """Further users, with limited permissions."""

    is_open: bool = False
    """True if the operator allows unauthenticated access from other machines."""

    key_store: KeyStore | None = None
    trust_store: KeyStore | None = None
    """Certificate authorities for client certificates; ``None`` if clients do not need a certificate."""

    @property
    def is_local(self) -> bool:
        """True if only this machine can reach the ports."""
        return ipaddress.ip_address(self.bind).is_loopback


def http_config(options: Options, *, has_secret: bool, port: int | None = None) -> HttpConfig:
    """Return the REST configuration of a node; ``port`` takes effect even if ``http.enable-http`` is not set.

    Raises:
        UsageError: Options contradict each other, or would implicitly allow unauthenticated access. The message lists
            all problems.
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
    """Return the IP address to listen on. Names are rejected, because they may later resolve to another address."""
    text = LOOPBACK if written == "localhost" else written.strip("[]")
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise UsageError(
            f"http.bind-address is {written!r}: use an address of this machine, 0.0.0.0 for all its addresses, or "
            "127.0.0.1"
        ) from None


def _context_path(written: str) -> str:
    """Return the prefix of all paths, without a trailing slash."""
    parts = [part for part in written.split("/") if part]
    path = "".join(f"/{part}" for part in parts)
    if not _CONTEXT_PATH.fullmatch(path):
        raise UsageError(f"http.context-path is {written!r}: use letters, digits and . _ ~ - between slashes")
    return path


def _login(options: Options, *, has_secret: bool) -> tuple[str, str] | None:
    """Return the user and password of basic authentication. Both the password and the cluster secret are required."""
    if not options[http_options.ENABLE_BASIC_AUTH]:
        return None
    user = options[http_options.BASIC_AUTH_USERNAME] or "admin"
    password = options[http_options.BASIC_AUTH_PASSWORD] or ""
    if ":" in user:
        raise UsageError("http.basic-auth-username contains a colon, which basic authentication does not allow")
    if password in ("", "admin"):
        raise UsageError(
            "http.basic-auth-password is not set, or is the well-known default admin: set another password"
        )
    if not has_secret:
        raise UsageError(
            f"http.enable-basic-auth is set, but without config/{SECRET_FILE} the member port accepts unauthenticated "
            "requests. Create the secret with `seatunnel-cluster --make-secret`"
        )
    return user, password


def _users(options: Options) -> tuple[User, ...]:
    entries = options[http_options.USERS]
    if entries and not options[http_options.ENABLE_BASIC_AUTH]:
        raise UsageError("http.users needs basic authentication: set http.enable-basic-auth: true")
    names = {options[http_options.BASIC_AUTH_USERNAME] or "admin"}
    found = []
    findings = Findings()
    for number, entry in enumerate(entries, 1):
        name, password = str(entry[http_options.USER_NAME]), str(entry[http_options.USER_PASSWORD])
        with findings.part():
            if not name or not password:
                raise UsageError(f"entry {number} of http.users has an empty username or password")
            if ":" in name or name in names:
                raise UsageError(f"the username of entry {number} of http.users contains a colon or is already used")
        names.add(name)
        permissions = frozenset(map(Permission, entry[http_options.USER_PERMISSIONS]))
        if Permission.CHECK in permissions and Permission.SUBMIT not in permissions:
            logger.warning(
                "http.users: %s can encrypt jobs but not check them: a check reads files and calls functions as this "
                "node's user, so it also needs the permission submit",
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
            "http.enable-https needs http.key-store-path, a file with the node's key and certificates: PEM, PKCS12 "
            "or JKS"
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
        raise UsageError("http.trust-store-path requires client certificates, which need http.enable-https: true")
    return KeyStore(path=Path(path), password=options[http_options.TRUST_STORE_PASSWORD])


def _require_asked(config: HttpConfig) -> None:
    """Reject unauthenticated ports that other machines can reach, unless the operator allows them."""
    if config.is_local:
        return
    unasked = [port for port in (config.port,) if port is not None]
    if config.trust_store is None and config.https_port is not None:
        unasked.append(config.https_port)
    if config.login is not None or not unasked:
        if config.login is not None and config.port is not None:
            logger.warning(
                "http.enable-http on %s: passwords are sent unencrypted; http.enable-https encrypts them",
                config.bind,
            )
        return
    ports = " and ".join(map(str, unasked))
    if config.is_open:
        logger.warning(
            "http.allow-unauthenticated-access: any client that reaches port %s of %s can run anything as this user",
            ports,
            config.bind,
        )
        return
    raise UsageError(
        f"http.bind-address is {config.bind}, and REST on port {ports} would be unauthenticated: any client that "
        "reaches it could run anything as this user. Set http.enable-basic-auth and a password; or remove "
        "http.enable-http and set http.trust-store-path, so that clients need a certificate; or, to accept this "
        "risk, set http.allow-unauthenticated-access: true"
    )
