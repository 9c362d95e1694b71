"""Client for REST v2 of a cluster, with optional basic authentication and TLS."""

import base64
import socket
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from attrs import field, frozen

from seatunnel_core.control.node_client import Answer, Connection, NodeClient
from seatunnel_core.errors import UsageError

DEFAULT_PORT, DEFAULT_TLS_PORT = 8080, 8443


@frozen(kw_only=True)
class RestAddress:
    """Nodes of a cluster, and settings for connections to their REST v2 API."""

    nodes: tuple[str, ...]
    """Nodes as ``host:port``. If one does not respond, the next one is tried."""

    user: str = ""
    password: str = field(default="", repr=False)
    context_path: str = ""
    """Prefix of all paths (``http.context-path``); empty, or starts with ``/``."""

    https: bool = False
    ca_file: Path | None = None
    """File with certificate authorities for the nodes; ``None`` for the authorities that this machine trusts."""

    certificate: Path | None = None
    """Client certificate with its key, for nodes that require one."""

    @classmethod
    def of(cls, nodes: str | Sequence[str], *, port: int | None = None, **more: Any) -> "RestAddress":
        """Parse the addresses of nodes: hosts, ``host:port`` or URLs, as a list or separated by commas.

        ``port`` is the default port. ``more`` are other fields; a URL with ``https`` also sets ``https``.
        """
        words = nodes.split(",") if isinstance(nodes, str) else nodes
        own_port = DEFAULT_TLS_PORT if more.get("https") else DEFAULT_PORT
        found = [_node(word.strip(), port, own_port) for word in words if word.strip()]
        if not found:
            raise UsageError(
                "no node of the cluster is specified: use host:port, and separate several nodes with commas"
            )
        schemes = {scheme for scheme, _ in found if scheme}
        if len(schemes) > 1:
            raise UsageError("some node addresses use http:// and some https://: use the same for all")
        secure = {"https": True} if schemes == {"https"} else {}
        path = str(more.pop("context_path", "") or "").strip("/")
        return cls(
            nodes=tuple(node for _, node in found),
            context_path=f"/{path}" if path else "",
            **{**more, **secure},
        )


def _node(word: str, port: int | None, own_port: int) -> tuple[str, str]:
    """Return the scheme (empty if there is none) and ``host:port``."""
    scheme, separator, rest = word.partition("://")
    port = port or (DEFAULT_TLS_PORT if separator and scheme == "https" else own_port)
    try:
        parts = urlsplit(f"//{rest if separator else word}")
        named = parts.port or port
    except ValueError:
        parts, named = urlsplit(""), port
    if not parts.hostname or parts.path.strip("/") or parts.username or (separator and scheme not in ("http", "https")):
        raise UsageError(f"{word!r} is not the address of a node: expected host:port, for example node1:{DEFAULT_PORT}")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return scheme if separator else "", f"{host}:{named}"


class RestClient(NodeClient):
    """Client that sends REST v2 requests to the nodes of a cluster until one responds."""

    def __init__(self, address: RestAddress, *, connect_s: float = 3.0, answer_s: float = 30.0) -> None:
        super().__init__(address.nodes, "the cluster", connect_s=connect_s, answer_s=answer_s)
        self._path = address.context_path
        login = base64.b64encode(f"{address.user}:{address.password}".encode()).decode()
        self._headers = {"authorization": f"Basic {login}"} if address.user else {}
        self._tls = _tls(address) if address.https else None

    def accepted(self, answer: Answer) -> Any:
        if answer.status == 401:
            given = "rejects this user and password" if self._headers else "requires a user and a password"
            raise UsageError(f"{self._called} {given}: {answer.message()}")
        return super().accepted(answer)

    def _exchanged(
        self, member: str, connected: socket.socket, answer_s: float, method: str, target: str, body: bytes, kind: str
    ) -> Answer:
        connection = Connection(member, connected, answer_s)
        try:
            if self._tls is not None:
                connection.encrypt(self._tls, connected)
            connection.request(method, self._path + target, body, {"content-type": kind, **self._headers})
            response = connection.getresponse()
            return Answer(response.status, response.read(), response.getheader("content-type") or "")
        finally:
            connection.close()


def _tls(address: RestAddress) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=address.ca_file)
        if address.certificate is not None:
            context.load_cert_chain(address.certificate)
    except OSError as error:
        files = ", ".join(str(each) for each in (address.ca_file, address.certificate) if each is not None)
        raise UsageError(f"the certificates cannot be read from {files}: {error}") from error
    return context
