"""Signed requests to the members of a cluster, from nodes and from clients that have its secret."""

import hmac
import http.client
import itertools
import secrets
import socket
import threading
from collections.abc import Mapping, Sequence

from seatunnel_core.control.node_client import Answer, Connection, NodeClient
from seatunnel_core.control.signing import ANSWER, AUTHORIZATION, BOOT, CLUSTER, DIGEST, Secret, digest_of
from seatunnel_core.errors import PlatformError


class UnsignedAnswerError(PlatformError):
    """The responding process does not have the secret of the cluster."""


class UnsignedError(http.client.HTTPException):
    """A response is not signed with the secret of the cluster."""


class Signer:
    """Signer of requests from one sender. It also checks the signatures of the responses.

    Nonces must arrive in order, so a sender may have only one request in flight to each member. Requests are signed for
    the last known boot ID of the member, in ``boots``, which several senders may share.
    """

    def __init__(self, cluster: str, secret: Secret | None, boots: dict[str, str] | None = None) -> None:
        self._cluster = cluster
        self._secret = secret
        self._sender = secrets.token_hex(8)
        self._numbers = itertools.count()
        self._boots = {} if boots is None else boots

    def signed(self, member: str, method: str, target: str, body: bytes) -> tuple[str, dict[str, str]]:
        """Return the nonce and the headers of a new request."""
        boot, nonce = self._boots.get(member, ""), f"{self._sender}-{next(self._numbers)}"
        if self._secret is None:
            return nonce, {CLUSTER: self._cluster}
        digest = digest_of(body)
        signature = self._secret.sign(
            boot=boot, nonce=nonce, cluster=self._cluster, method=method, target=target, digest=digest
        )
        return nonce, {CLUSTER: self._cluster, BOOT: boot, DIGEST: digest, AUTHORIZATION: f"{nonce} {signature}"}

    def is_to_repeat(self, member: str, sent: Mapping[str, str], answer: Answer, boot: str) -> bool:
        """Return True if a request must be repeated, because it was signed for an earlier boot ID of the member."""
        if answer.status != 401 or self._secret is None or boot in ("", sent.get(BOOT)):
            return False
        self._boots[member] = boot
        return True

    def require_signed(self, nonce: str, answer: Answer, signature: str) -> None:
        """Raise ``UnsignedError`` unless a response is signed with the cluster's secret."""
        if self._secret is None or answer.status == 401:  # the member may have another secret
            return
        expected = self._secret.sign_answer(nonce=nonce, status=answer.status, body=answer.body)
        if not hmac.compare_digest(expected, signature):
            raise UnsignedError("its response is not signed with the cluster's secret")


class ClusterClient(NodeClient):
    """Client that sends signed requests to the members of a cluster until one responds."""

    def __init__(
        self,
        members: Sequence[str],
        cluster: str,
        secret: Secret | None,
        *,
        connect_s: float = 3.0,
        answer_s: float = 60.0,
    ) -> None:
        super().__init__(members, called(cluster), connect_s=connect_s, answer_s=answer_s)
        self._signer = Signer(cluster, secret)
        self._asking = threading.Lock()

    def _exchanged(
        self, member: str, connected: socket.socket, answer_s: float, method: str, target: str, body: bytes, kind: str
    ) -> Answer:
        with self._asking:  # nonces must arrive in order
            connection = Connection(member, connected, answer_s)
            try:
                nonce, headers = self._signer.signed(member, method, target, body)
                answer, found = _exchanged_once(connection, method, target, body, {**headers, "content-type": kind})
                if self._signer.is_to_repeat(member, headers, answer, found.getheader(BOOT) or ""):
                    nonce, headers = self._signer.signed(member, method, target, body)
                    answer, found = _exchanged_once(connection, method, target, body, {**headers, "content-type": kind})
                self._signer.require_signed(nonce, answer, found.getheader(ANSWER) or "")
            finally:
                connection.close()
        return answer

    def _unreachable(self, failures: Sequence[tuple[str, Exception]]) -> PlatformError:
        return unreachable(super()._unreachable(failures), failures)


def called(cluster: str) -> str:
    """Return the name of a cluster for messages."""
    return f"the cluster {cluster!r}"


def unreachable(error: PlatformError, failures: Sequence[tuple[str, Exception]]) -> PlatformError:
    """Return the error for a cluster that does not respond, with the failures of its members."""
    unsigned = any(isinstance(failure, UnsignedError) for _, failure in failures)
    return UnsignedAnswerError(str(error)) if unsigned else error


def _exchanged_once(
    connection: Connection, method: str, target: str, body: bytes, headers: Mapping[str, str]
) -> tuple[Answer, http.client.HTTPResponse]:
    connection.request(method, target, body, dict(headers))
    response = connection.getresponse()
    return Answer(response.status, response.read(), response.getheader("content-type") or ""), response
