"""The member ports of a cluster, where its nodes ask each other, and clients that know its secret ask them."""

import hmac
import http.client
import itertools
import secrets
import socket
import threading
from collections.abc import Sequence

from seatunnel_core.control.node_client import Answer, Connection, NodeClient
from seatunnel_core.control.signing import ANSWER, AUTHORIZATION, BOOT, CLUSTER, DIGEST, Secret, digest_of
from seatunnel_core.errors import PlatformError


class UnsignedAnswerError(PlatformError):
    """What answers a member's requests does not know the cluster's secret."""


class ClusterClient(NodeClient):
    """Asks members of a cluster until one answers, with requests that are signed.

    Args:
        members: where nodes may be, as ``host:port``.
        cluster: the name of the cluster.
        secret: of the cluster; ``None`` when it has none.
        connect_s: for so long one node may take to accept a connection.
        answer_s: for so long it may take to answer.
    """

    def __init__(
        self,
        members: Sequence[str],
        cluster: str,
        secret: Secret | None,
        *,
        connect_s: float = 3.0,
        answer_s: float = 60.0,
    ) -> None:
        super().__init__(members, f"the cluster {cluster!r}", connect_s=connect_s, answer_s=answer_s)
        self._cluster = cluster
        self._secret = secret
        self._sender = secrets.token_hex(8)
        self._numbers = itertools.count()
        self._asking = threading.Lock()
        self._boots: dict[str, str] = {}

    def _unreachable(self, failures: Sequence[tuple[str, Exception]]) -> PlatformError:
        found = super()._unreachable(failures)
        unsigned = any(isinstance(error, _UnsignedError) for _, error in failures)
        return UnsignedAnswerError(str(found)) if unsigned else found

    def _exchanged(
        self, member: str, connected: socket.socket, method: str, target: str, body: bytes, content_type: str
    ) -> Answer:
        with self._asking:  # the numbers of the nonces arrive in their order
            connection = Connection(member, connected, self._answer_s)
            try:
                answer, boot = self._exchange_once(member, connection, method, target, body, content_type)
                if answer.status == 401 and self._secret is not None and boot not in ("", self._boots.get(member)):
                    self._boots[member] = boot
                    answer, _ = self._exchange_once(member, connection, method, target, body, content_type)
            finally:
                connection.close()
        return answer

    def _exchange_once(
        self, member: str, connection: Connection, method: str, target: str, body: bytes, content_type: str
    ) -> tuple[Answer, str]:
        headers = {CLUSTER: self._cluster, "content-type": content_type}
        boot, nonce = self._boots.get(member, ""), f"{self._sender}-{next(self._numbers)}"
        if self._secret is not None:
            digest = digest_of(body)
            signature = self._secret.sign(
                boot=boot, nonce=nonce, cluster=self._cluster, method=method, target=target, digest=digest
            )
            headers |= {BOOT: boot, DIGEST: digest, AUTHORIZATION: f"{nonce} {signature}"}
        connection.request(method, target, body, headers)
        response = connection.getresponse()
        found = Answer(response.status, response.read(), response.getheader("content-type") or "")
        if self._secret is not None and found.status != 401:  # who refuses may have another secret
            expected = self._secret.sign_answer(nonce=nonce, status=found.status, body=found.body)
            if not hmac.compare_digest(expected, response.getheader(ANSWER) or ""):
                raise _UnsignedError("its answer is not signed with the cluster's secret")
        return found, response.getheader(BOOT) or ""


class _UnsignedError(http.client.HTTPException):
    """An answer is not signed."""
