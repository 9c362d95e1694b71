"""TLS keys and certificates from PEM, PKCS12 and Java key stores. Unencrypted keys are never written to disk.

Python's ``ssl`` only reads keys from files, so keys are passed in an anonymous in-memory file. Stores in Java formats
are converted with Java's ``keytool``, and the result is encrypted with a random password.
"""

import contextlib
import os
import re
import secrets
import shutil
import ssl
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from seatunnel_core.errors import PlatformError, UsageError
from seatunnel_core.installing import install_command
from seatunnel_core.server.transport.http_config import HttpConfig, KeyStore

_PEM = b"-----BEGIN "
_PLAIN_KEY = re.compile(rb"-----BEGIN (?!ENCRYPTED)[A-Z ]*PRIVATE KEY-----\r?\n(?!Proc-Type: 4,ENCRYPTED)")
"""Pattern of the first line of an unencrypted key, in any PEM key format."""

_JAVA = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")
"""First bytes of JKS and JCEKS files."""

_KEYTOOL_S = 60.0


def server_context(config: HttpConfig) -> ssl.SSLContext:
    """Return the TLS context of a node's HTTPS port.

    Raises:
        UsageError: A store cannot be read, lacks a key or certificate, or has a different password; or other users may
            read an unencrypted key.
        PlatformError: The software that reads the store's format is not installed.
    """
    assert config.key_store is not None, "https is only enabled with a key store"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    _take_key(context, config.key_store)
    if config.trust_store is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        try:
            context.load_verify_locations(cadata=_authorities(config.trust_store))
        except ssl.SSLError as error:
            raise _wrong("http.trust-store-path", config.trust_store, "it has no CA certificate") from error
    return context


def _take_key(context: ssl.SSLContext, store: KeyStore) -> None:
    content = _read("http.key-store-path", store)
    password = store.key_password or store.password or ""
    if _PEM in content:
        pem, is_plain = content, _PLAIN_KEY.search(content) is not None
    else:
        is_plain = not store.password and not content.startswith(_JAVA)
        pem, password = _identity(store, _pkcs12("http.key-store-path", store, content)), ""
    if is_plain:
        _require_private(store)
    try:
        with _in_memory(pem) as path:
            context.load_cert_chain(path, password=password.encode)  # without one, OpenSSL would prompt
    except ssl.SSLError as error:
        reason = "the key and the certificate do not match, one of them is missing, or the password is wrong"
        raise _wrong("http.key-store-path", store, reason) from error


def _require_private(store: KeyStore) -> None:
    """Reject an unencrypted key that other users can read, because they could impersonate this node.

    If the file belongs to root, its group may read it, because Linux distributions and Kubernetes provide keys in this
    way.
    """
    found = store.path.stat()
    shared = stat.S_IRGRP if found.st_uid == 0 else 0
    if stat.S_IMODE(found.st_mode) & (stat.S_IRWXG | stat.S_IRWXO) & ~shared:
        raise UsageError(
            f"http.key-store-path: other users may read the unencrypted key in {store.path}: "
            f"chmod 600 {store.path}, or 640 if it belongs to root and only its group needs it"
        )


def _authorities(store: KeyStore) -> str:
    content = _read("http.trust-store-path", store)
    if _PEM in content:
        return content.decode("ascii", "replace")
    found = _pkcs12("http.trust-store-path", store, content)
    return b"".join(_pem(each) for each in _certificates(found)).decode("ascii")


@contextlib.contextmanager
def _in_memory(content: bytes) -> Iterator[str]:
    """Yield the path of an in-memory file that only this process can open."""
    descriptor = os.memfd_create("key", os.MFD_CLOEXEC)
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(content)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def _read(option: str, store: KeyStore) -> bytes:
    try:
        return store.path.read_bytes()
    except OSError as error:
        raise UsageError(f"{option}: {store.path} cannot be read: {error.strerror or error}") from error


def _pkcs12(option: str, store: KeyStore, content: bytes) -> Any:
    """Return the content of a store, as an object of ``cryptography``."""
    try:
        from cryptography.hazmat.primitives.serialization import pkcs12
    except ImportError as error:
        raise PlatformError(f"{option} needs another package ({error}): {install_command('cluster')}") from error
    password = store.password or ""
    if content.startswith(_JAVA):
        content, password = _converted(option, store)
    try:
        return pkcs12.load_pkcs12(content, password.encode() or None)
    except ValueError as error:
        raise _wrong(option, store, "it is not PEM, PKCS12 or JKS, or the password is wrong") from error


def _identity(store: KeyStore, found: Any) -> bytes:
    """Return the key and the certificates as PEM: first the node's own certificate, then the chain of issuers."""
    from cryptography.hazmat.primitives import serialization

    if found.key is None or found.cert is None:
        raise _wrong("http.key-store-path", store, "it does not contain a key and its certificate")
    key: bytes = found.key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    own = found.cert.certificate
    chain, others = [own], [each.certificate for each in found.additional_certs]
    while signer := next((each for each in others if each.subject == chain[-1].issuer and each not in chain), None):
        chain.append(signer)
    return key + b"".join(map(_pem, chain))


def _certificates(found: Any) -> list[Any]:
    own = [] if found.cert is None else [found.cert]
    return [each.certificate for each in (*own, *found.additional_certs)]


def _pem(certificate: Any) -> bytes:
    from cryptography.hazmat.primitives import serialization

    encoded: bytes = certificate.public_bytes(serialization.Encoding.PEM)
    return encoded


def _converted(option: str, store: KeyStore) -> tuple[bytes, str]:
    """Convert a store in a Java format to PKCS12, and return it with its random password."""
    password = secrets.token_hex(16)
    given = {"STORE": store.password or "", "KEY": store.key_password or store.password or "", "MADE": password}
    source = ["-keystore", str(store.path), "-storepass:env", "STORE"]
    listed = _keytool(option, store, ["-list", *source], given)
    entries = [line.partition(",")[0] for line in listed.splitlines() if "PrivateKeyEntry" in line]
    with tempfile.TemporaryDirectory(prefix="seatunnel-") as folder:  # only this user can access it
        target = Path(folder, "store.p12")
        arguments = ["-importkeystore", "-noprompt", "-srckeystore", str(store.path), "-srcstorepass:env", "STORE"]
        arguments += ["-destkeystore", str(target), "-deststoretype", "PKCS12", "-deststorepass:env", "MADE"]
        if entries:
            arguments += ["-srcalias", entries[0], "-srckeypass:env", "KEY", "-destkeypass:env", "MADE"]
        _keytool(option, store, arguments, given)
        return target.read_bytes(), password


def _keytool(option: str, store: KeyStore, arguments: Sequence[str], given: dict[str, str]) -> str:
    """Return the output of Java's ``keytool``. Passwords are passed in environment variables."""
    home = os.environ.get("JAVA_HOME", "")
    program = shutil.which("keytool", path=os.path.join(home, "bin")) if home else shutil.which("keytool")
    if program is None:
        raise PlatformError(
            f"{option}: {store.path} is in a Java format that needs Java's keytool, which is in neither JAVA_HOME nor "
            "PATH: install a JDK or JRE, or use PKCS12 or PEM"
        )
    done = subprocess.run(
        [program, "-J-Duser.language=en", *arguments],
        env={**os.environ, **given},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_KEYTOOL_S,
        check=False,
    )
    if done.returncode:
        said = next((line for line in done.stdout.splitlines() if "rror" in line), "no reason")
        raise _wrong(option, store, f"Java's keytool reports: {said}")
    return done.stdout


def _wrong(option: str, store: KeyStore, reason: str) -> UsageError:
    return UsageError(f"{option}: {store.path} is not usable: {reason}")
