"""A service over HTTP or HTTPS that needs nothing installed: handlers in Python, and a record of what was asked."""

import datetime as dt
import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from attrs import field, frozen


@frozen(kw_only=True)
class Asked:
    """One request."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    """Their names in lower case."""

    body: str

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@frozen(kw_only=True)
class Said:
    """One answer; what is no text is sent as JSON."""

    body: Any = ""
    status: int = 200
    headers: Mapping[str, str] = field(factory=dict)
    cut: bool = False
    """Whether the connection breaks in the middle."""


Handler = Callable[[Asked], Any]


class HttpService:
    """``service.at["/people"] = handler``; a handler takes what is asked and gives a ``Said``, or only its body."""

    def __init__(self, certificate: Path | None = None, port: int = 0, client_ca: Path | None = None) -> None:
        self.at: dict[str, Handler] = {}
        self.asked: list[Asked] = []
        self._server = _Server(self, port)
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            if client_ca is not None:
                context.verify_mode = ssl.CERT_REQUIRED
                context.load_verify_locations(client_ca)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self.url = f"{'http' if certificate is None else 'https'}://localhost:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answers(self, path: str, *answers: Any) -> None:
        """Give these at the path, one after the other, and the last one for ever."""
        left = list(answers)
        self.at[path] = lambda _: left.pop(0) if len(left) > 1 else left[0]

    def of(self, path: str) -> list[Asked]:
        return [each for each in self.asked if each.path == path]


@contextmanager
def http_service(
    certificate: Path | None = None, port: int = 0, client_ca: Path | None = None
) -> Iterator[HttpService]:
    service = HttpService(certificate, port, client_ca)
    try:
        yield service
    finally:
        service.stop()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, service: HttpService, port: int) -> None:
        super().__init__(("localhost", port), _Answering)
        self.service = service

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that does not like the certificate, or that was killed."""


class _Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def _answer(self) -> None:
        parts = urlsplit(self.path)
        asked = Asked(
            method=self.command,
            path=parts.path,
            query=dict(parse_qsl(parts.query, keep_blank_values=True)),
            headers={name.lower(): value for name, value in self.headers.items()},
            body=self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode(),
        )
        self.server.service.asked.append(asked)
        handler = self.server.service.at.get(parts.path)
        said = handler(asked) if handler is not None else Said(body="nothing here", status=404)
        self._say(said if isinstance(said, Said) else Said(body=said))

    def _say(self, said: Said) -> None:
        body = said.body if isinstance(said.body, bytes) else _encoded(said.body)
        self.send_response(said.status)
        for name, value in said.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) + said.cut))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.close_connection = self.close_connection or said.cut

    do_GET = do_POST = do_HEAD = _answer  # noqa: N815 - as the module looks for them

    def log_message(self, format: str, *args: Any) -> None:
        """Tests say what was asked."""


def _encoded(body: Any) -> bytes:
    return (body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)).encode()


def certificate_in(folder: Path, name: str = "localhost") -> Path:
    """A PEM file with a certificate of its own making for ``name``, and its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    called = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder(called, called, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = folder / f"{name}.pem"
    file.write_bytes(made.public_bytes(serialization.Encoding.PEM) + key.private_bytes(*form))
    return file
