"""TLS of a node: key stores in the formats that people have, and clients that show a certificate, or do not."""

import asyncio
import contextlib
import os
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12

from seatunnel_core.errors import UsageError
from seatunnel_core.server.transport.http_config import HttpConfig, KeyStore
from seatunnel_core.server.transport.key_store import server_context
from seatunnel_core.server.transport.listening import http_server, listening
from tests.server.transport.authority import Identity, signed

ROOT = signed("root", is_authority=True)
MIDDLE = signed("middle", ROOT, is_authority=True)
NODE = signed("localhost", MIDDLE)


def context(store: KeyStore, trust: KeyStore | None = None) -> ssl.SSLContext:
    return server_context(HttpConfig(https_port=1, key_store=store, trust_store=trust))


async def _hello(scope: object, receive: object, send: object) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})  # type: ignore[operator]
    await send({"type": "http.response.body", "body": b"hi"})  # type: ignore[operator]


@contextlib.contextmanager
def serving(tls: ssl.SSLContext) -> Iterator[int]:
    """Give the port of a server that says hi."""
    bound = listening("127.0.0.1", 0)
    server = http_server(_hello, tls)
    thread = threading.Thread(target=lambda: asyncio.run(server._serve(sockets=[bound])))
    thread.start()
    try:
        yield bound.getsockname()[1]
    finally:
        server.should_exit = server.force_exit = True
        thread.join(30)
        bound.close()


def said_to(port: int, client: Identity | None = None, *, folder: Path) -> bytes:
    """Return what the server says to a client that trusts the root, and may have a certificate.

    Raises:
        OSError: one of the two does not trust the other.
    """
    trusting = ssl.create_default_context(cadata=ROOT.certificates_pem().decode())
    if client is not None:
        trusting.load_cert_chain(client.write_pem(folder / "client.pem"))
    with (
        socket.create_connection(("127.0.0.1", port), timeout=20) as plain,
        trusting.wrap_socket(plain, server_hostname="localhost") as connection,
    ):
        connection.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        found = b""
        while part := connection.recv(1000):
            found += part
        return found


def test_pem_and_pkcs12_serve_the_whole_chain(tmp_path: Path) -> None:
    stores = (
        KeyStore(path=NODE.write_pem(tmp_path / "plain.pem")),
        KeyStore(path=NODE.write_pem(tmp_path / "locked.pem", "pass"), password="pass"),
        KeyStore(path=NODE.write_pem(tmp_path / "other.pem", "key"), password="pass", key_password="key"),
        KeyStore(path=NODE.write_pkcs12(tmp_path / "node.p12", "pass"), password="pass"),
    )
    for store in stores:
        with serving(context(store)) as port:
            assert said_to(port, folder=tmp_path).endswith(b"hi")
    assert not list(tmp_path.glob("*key*"))


def test_a_client_without_a_certificate_of_the_authority_is_not_served(tmp_path: Path) -> None:
    store = KeyStore(path=NODE.write_pem(tmp_path / "node.pem"))
    authority = tmp_path / "root.pem"
    authority.write_bytes(ROOT.certificates_pem())
    stranger = signed("stranger", signed("elsewhere", is_authority=True))
    with serving(context(store, KeyStore(path=authority))) as port:
        assert said_to(port, signed("me", ROOT), folder=tmp_path).endswith(b"hi")
        for client in (None, stranger):
            said = b""
            with contextlib.suppress(OSError):  # TLS ends the connection, in one of several ways
                said = said_to(port, client, folder=tmp_path)
            assert not said


@pytest.mark.spark
def test_stores_of_java_are_read_by_its_keytool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One with a key of another password than its own, and one of authorities."""
    if shutil.which("keytool") is None:
        monkeypatch.setenv("PATH", f"{os.environ['JAVA_HOME']}/bin", prepend=os.pathsep)
    NODE.write_pkcs12(tmp_path / "node.p12", "pass12")
    keytool = ["keytool", "-importkeystore", "-noprompt", "-srckeystore", "node.p12", "-srcstorepass", "pass12"]
    keytool += ["-destkeystore", "node.jks", "-deststoretype", "JKS", "-deststorepass", "store1"]
    subprocess.run(
        [*keytool, "-srcalias", "node", "-destkeypass", "key123"], cwd=tmp_path, check=True, capture_output=True
    )
    (tmp_path / "root.pem").write_bytes(ROOT.certificates_pem())
    trusted = ["keytool", "-importcert", "-noprompt", "-alias", "root", "-file", "root.pem", "-storetype", "JKS"]
    trusted += ["-keystore", "trust.jks", "-storepass", "trust1"]
    subprocess.run(trusted, cwd=tmp_path, check=True, capture_output=True)
    tls = context(
        KeyStore(path=tmp_path / "node.jks", password="store1", key_password="key123"),
        KeyStore(path=tmp_path / "trust.jks", password="trust1"),
    )
    with serving(tls) as port:
        assert said_to(port, signed("me", ROOT), folder=tmp_path).endswith(b"hi")
    with pytest.raises(UsageError, match="keytool reports") as refused:
        context(KeyStore(path=tmp_path / "node.jks", password="wrong-one"))
    assert "wrong-one" not in str(refused.value)


def test_a_store_that_is_not_usable_is_named_with_the_option(tmp_path: Path) -> None:
    node = NODE.write_pem(tmp_path / "locked.pem", "pass")
    (tmp_path / "no-key.pem").write_bytes(NODE.certificates_pem())
    (tmp_path / "other.pem").write_bytes(ROOT.key_pem() + NODE.certificates_pem())
    (tmp_path / "other.pem").chmod(0o600)
    (tmp_path / "text.p12").write_text("what is this")
    for path, password, reason in (
        (node, "wrong-one", "the password is wrong"),
        (node, None, "the password is wrong"),
        (tmp_path / "no-key.pem", None, "one of them is missing"),
        (tmp_path / "other.pem", None, "do not match"),
        (tmp_path / "text.p12", "x", "not PEM, PKCS12 or JKS"),
        (NODE.write_pkcs12(tmp_path / "node.p12", "pass"), "wrong-one", "the password is wrong"),
        (tmp_path / "missing.pem", None, "No such file"),
    ):
        with pytest.raises(UsageError) as refused:
            context(KeyStore(path=path, password=password))
        assert "http.key-store-path" in str(refused.value)
        assert reason in str(refused.value)
        assert "wrong-one" not in str(refused.value)
    empty = tmp_path / "empty.pem"
    empty.write_bytes(NODE.key_pem())
    with pytest.raises(UsageError, match=r"http\.trust-store-path"):
        context(KeyStore(path=node, password="pass"), KeyStore(path=empty))


TAKEN = {0o600: True, 0o640: os.geteuid() == 0, 0o660: False, 0o604: False, 0o644: False}
"""By the rights of a file: whether a node takes the key in it; its group may read one that belongs to root."""


@pytest.mark.parametrize("mode", TAKEN)
def test_a_key_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    plain = KeyStore(path=NODE.write_pem(tmp_path / "plain.pem"))
    older = KeyStore(path=tmp_path / "older.pem")
    form = serialization.PrivateFormat.TraditionalOpenSSL
    key = NODE.key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    older.path.write_bytes(NODE.certificates_pem() + key)
    unlocked = KeyStore(path=tmp_path / "unlocked.p12")
    unlocked.path.write_bytes(
        pkcs12.serialize_key_and_certificates(b"n", NODE.key, NODE.certificate, None, serialization.NoEncryption())
    )
    for store in (plain, older, unlocked):
        store.path.chmod(mode)
        if TAKEN[mode]:
            context(store)
            continue
        with pytest.raises(UsageError, match=f"other users may read the unencrypted key in .*: chmod 600 {store.path}"):
            context(store)


def test_a_key_with_a_password_may_lie_where_others_read_it(tmp_path: Path) -> None:
    locked = KeyStore(path=NODE.write_pem(tmp_path / "locked.pem", "pass"), password="pass")
    older = KeyStore(path=tmp_path / "older.pem", password="pass")
    form, cipher = serialization.PrivateFormat.TraditionalOpenSSL, serialization.BestAvailableEncryption(b"pass")
    older.path.write_bytes(NODE.key.private_bytes(serialization.Encoding.PEM, form, cipher) + NODE.certificates_pem())
    store = KeyStore(path=NODE.write_pkcs12(tmp_path / "node.p12", "pass"), password="pass")
    for each in (locked, older, store):
        each.path.chmod(0o644)
        context(each)
