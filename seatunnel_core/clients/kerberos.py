"""Kerberos authentication for WebHDFS with a principal and its keytab.

Credentials are acquired anew for each HTTP request, because the Kerberos library (MIT's, through ``gssapi``) then
replaces a ticket that has passed half of its lifetime. Tickets are kept in memory: no environment variable is set, no
file is written, and two storages in a process may use different principals.
"""

import base64
import os
import re
import secrets
import socket
import threading
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import gssapi
import requests
from attrs import define, field

from seatunnel_core.clients import keytab
from seatunnel_storage_api.errors import StorageAccessError, StorageConfigurationError, StorageUnavailableError

PRINCIPAL = "kerberosPrincipal"
KEYTAB = "kerberosKeytabFilePath"
KEYTAB_OF_OLD = "kerberosKeytab"
CONFIGURATION = "krb5_path"

_SPNEGO = gssapi.OID.from_int_seq("1.3.6.1.5.5.2")

_TABLE = 2**32 - 1765328384
"""Offset between error numbers of MIT's library and those of RFC 4120, section 7.5.9."""

_UNREACHABLE = 156
"""MIT's own number for "cannot contact any KDC"."""

_UNKNOWN_SERVICE = 7

_REMEDIES = {
    1: "The account of this principal has expired; have it extended (kadmin: modprinc -expire never)",
    6: "This principal is unknown to the KDC: correct kerberosPrincipal, or have it created",
    _UNKNOWN_SERVICE: (
        "This service is unknown to the KDC: use the host name that the NameNode's principal HTTP/<host> contains, "
        "not an IP address or an alias"
    ),
    18: "The principal is locked; have it unlocked (kadmin: modprinc +allow_tix, or -unlock)",
    23: "The key of the principal has expired; have it changed and export the keytab again",
    24: "The key in the keytab is not the current key of the principal, which was probably changed: export the "
    "keytab again (kadmin: ktadd)",
    37: "The clocks of this host and of the KDC are more than five minutes apart: synchronize them, preferably "
    "with NTP",
    154: "krb5.conf does not contain a KDC for this realm: add it under [realms], or correct the realm",
}
"""Remedies for permanent failures, by error number."""

_REFUSED_TICKET = (
    "Either the clocks of the NameNode, of the KDC and of this host are more than five minutes apart, or the "
    "keytab of the NameNode's HTTP principal is no longer valid for the KDC (then export it again), or this user "
    "has no auth_to_local rule; see the log of the NameNode"
)


def session(configuration: Mapping[str, str]) -> requests.Session | None:
    """Log in and return a session that authenticates to all hosts; ``None`` if no principal is configured."""
    written = configuration.get(PRINCIPAL)
    if not written:
        _refuse_half(configuration)
        return None
    _refuse_other_configuration(configuration.get(CONFIGURATION))
    path = configuration.get(KEYTAB) or configuration.get(KEYTAB_OF_OLD)
    if not path:
        raise StorageConfigurationError(
            f"{PRINCIPAL} is set, but {KEYTAB} is not: set it to the path of the keytab of {written}"
        )
    principal = _full(written)
    _require_key(principal, path.removeprefix("file://"))
    login = TicketAuth(principal=principal, keytab=path.removeprefix("file://"))
    login.acquire()
    made = requests.Session()
    made.auth = login
    return made


@define(eq=False)
class TicketAuth(requests.auth.AuthBase):  # type: ignore[misc]
    """Authentication that adds a Kerberos token (SPNEGO, RFC 4559) to each request. Thread-safe."""

    principal: str
    keytab: str
    _cache: str = field(init=False, factory=lambda: f"MEMORY:seatunnel-{secrets.token_hex(8)}")
    _lock: threading.Lock = field(init=False, factory=threading.Lock, repr=False)

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        address = urlsplit(str(request.url))
        if "delegation=" not in address.query:  # a DataNode uses the token that the NameNode put into the address
            request.headers["Authorization"] = f"Negotiate {self._token(address.hostname or '')}"
            request.register_hook("response", self._explain)
        return request

    def acquire(self) -> gssapi.Credentials:
        """Return credentials with a ticket that has not expired."""
        try:
            return gssapi.Credentials(
                name=gssapi.Name(self.principal, gssapi.NameType.kerberos_principal),
                usage="initiate",
                store={"client_keytab": f"FILE:{self.keytab}", "ccache": self._cache},
            )
        except gssapi.exceptions.GSSError as cause:
            raise self._failure(f"log in as {self.principal} with {self.keytab}", cause) from cause

    def _explain(self, response: requests.Response, **_: object) -> None:
        """Raise an error if the server rejected the ticket. If it rejects the user instead, the response is JSON."""
        if response.status_code in (401, 403) and "json" not in response.headers.get("Content-Type", ""):
            title = re.search(r"<title>Error \d+ (.*?)</title>", response.text, re.DOTALL)
            raise StorageAccessError(
                f"{urlsplit(str(response.url)).netloc} rejects the ticket of {self.principal}: "
                f"{title[1] if title else f'HTTP {response.status_code}'}. {_REFUSED_TICKET}"
            )

    def _token(self, host: str) -> str:
        with self._lock:  # while a ticket is renewed, the cache is briefly empty
            credentials = self.acquire()
            service = gssapi.Name(f"HTTP@{host}", gssapi.NameType.hostbased_service)
            try:
                return _first_token(service, credentials, _SPNEGO)
            except gssapi.exceptions.GSSError:
                pass
            try:  # SPNEGO hides the reason; a login by Kerberos alone reports it
                return _first_token(service, credentials, gssapi.MechType.kerberos)
            except gssapi.exceptions.GSSError as cause:
                raise self._failure(f"get a ticket of {self.principal} for HTTP/{host}", cause) from cause

    def _failure(self, what: str, cause: gssapi.exceptions.GSSError) -> StorageAccessError | StorageUnavailableError:
        number = cause.min_code - _TABLE
        reason = f"cannot {what}: {_reason(cause)}"
        if number in _REMEDIES:
            return StorageAccessError(f"{reason}. {_REMEDIES[number]}")
        if number == _UNREACHABLE:
            return StorageUnavailableError(f"{reason}. Check that the KDC in krb5.conf is up and reachable")
        return StorageAccessError(f"{reason}. Try kinit -kt {self.keytab} {self.principal} on this host")


def _first_token(service: gssapi.Name, credentials: gssapi.Credentials, mechanism: gssapi.OID) -> str:
    context = gssapi.SecurityContext(name=service, creds=credentials, mech=mechanism, usage="initiate")
    return base64.b64encode(context.step()).decode("ascii")


def _reason(cause: gssapi.exceptions.GSSError) -> str:
    """Return the Kerberos part of a message without the GSSAPI part."""
    return re.sub(r".*Minor \(\d+\): ", "", str(cause), flags=re.DOTALL)


def _full(written: str) -> str:
    """Return the principal. A missing realm is added, and Hadoop's ``_HOST`` becomes the name of this host."""
    named = written.replace("/_HOST@", f"/{socket.getfqdn().lower()}@")
    try:
        name = gssapi.Name(named, gssapi.NameType.kerberos_principal)
        return str(name.canonicalize(gssapi.MechType.kerberos))
    except gssapi.exceptions.GSSError as cause:
        raise StorageConfigurationError(
            f"{PRINCIPAL} is {written!r}, which Kerberos cannot parse: {_reason(cause)}. Use the form user@REALM or "
            "service/host@REALM, and check that krb5.conf is readable"
        ) from cause


def _require_key(principal: str, path: str) -> None:
    remedy = f"Export it with kadmin: ktadd -k {path} {principal}"
    try:
        held = {entry.principal for entry in keytab.entries(Path(path).read_bytes())}
    except OSError as cause:
        raise StorageConfigurationError(
            f"the keytab {path} of {principal} cannot be read: {cause.strerror}. Correct {KEYTAB}, or make the "
            "file readable only for this user (chmod 400)"
        ) from cause
    except ValueError as cause:
        raise StorageConfigurationError(f"the file {path} is not a keytab: {cause}. {remedy}") from cause
    if not held:
        raise StorageConfigurationError(f"the keytab {path} is empty. {remedy}")
    if principal not in held:
        raise StorageConfigurationError(
            f"the keytab {path} has no key for {principal}; it has keys for {', '.join(sorted(held))}. Set "
            f"{PRINCIPAL} to one of these, or choose another keytab"
        )


def _refuse_half(configuration: Mapping[str, str]) -> None:
    for key in (KEYTAB, KEYTAB_OF_OLD):
        if configuration.get(key):
            raise StorageConfigurationError(
                f"{key} is set, but {PRINCIPAL} is not: set it to the owner of the keytab, in the form user@REALM"
            )


def _refuse_other_configuration(path: str | None) -> None:
    """Raise an error if the Kerberos library does not read this ``krb5.conf``."""
    read = os.environ.get("KRB5_CONFIG") or "/etc/krb5.conf"
    if path and not any(os.path.realpath(path) == os.path.realpath(each) for each in read.split(":")):
        raise StorageConfigurationError(
            f"{CONFIGURATION} is {path}, but this process already uses {read}. Set KRB5_CONFIG={path} in the "
            f"environment before starting the process, or remove {CONFIGURATION}"
        )
