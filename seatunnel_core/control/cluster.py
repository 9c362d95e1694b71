"""The end of a cluster's HTTP where somebody asks: a client, or a node that forwards."""

import http.client
import itertools
import json
import secrets
import socket
import threading
from collections.abc import Sequence
from typing import Any

from attrs import frozen

from seatunnel_core import stored
from seatunnel_core.control.signing import AUTHORIZATION, BOOT, CLUSTER, Secret
from seatunnel_core.errors import PlatformError, StoredValueError, UsageError


class NoLeaderError(PlatformError):
    """The nodes of a cluster can be reached, and none of them leads it now."""


@frozen
class Answer:
    """What a node answered."""

    status: int
    body: bytes
    content_type: str

    def json(self) -> Any:
        """Return the JSON value of the answer.

        Raises:
            PlatformError: it is none: something else than a node listens there.
        """
        try:
            return stored.parse(self.body)
        except StoredValueError as error:
            raise PlatformError(f"the answer is no JSON, so no node of a cluster listens there: {error}") from error


class ClusterClient:
    """Asks one node of a cluster after the other until one answers.

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
        self._members = tuple(members)
        self._cluster = cluster
        self._secret = secret
        self._connect_s = connect_s
        self._answer_s = answer_s
        self._sender = secrets.token_hex(8)
        self._numbers = itertools.count()
        self._asking = threading.Lock()
        self._boots: dict[str, str] = {}

    def ask(self, method: str, target: str, body: Any = None) -> Any:
        """Return the JSON answer of the first node that gives one.

        Raises:
            UsageError: it refuses, and why.
            NoLeaderError: nodes can be reached, and none leads the cluster.
            PlatformError: no node can be reached.
        """
        encoded = b"" if body is None else json.dumps(body).encode()
        answer = self.exchange(method, target, encoded, "application/json")
        if answer.status == 503:
            raise NoLeaderError(f"the cluster {self._cluster!r} has no leader now: {_message(answer)}")
        if answer.status >= 400:
            raise UsageError(_message(answer))
        return answer.json()

    def exchange(self, method: str, target: str, body: bytes, content_type: str) -> Answer:
        """Return the answer of the first node that can be reached, whatever its status.

        The answer of a node that has no leader counts only if all others have none either.

        Raises:
            PlatformError: no node can be reached.
        """
        reasons = []
        problem: Exception | None = None
        last: Answer | None = None
        for member in self._members:
            try:
                answer = self._exchange_signed(member, method, target, body, content_type)
            except (OSError, http.client.HTTPException) as error:
                problem = error
                reasons.append(f"{member}: {error}")
                continue
            if answer.status != 503:
                return answer
            last = answer
        if last is not None:
            return last
        raise PlatformError(
            f"the cluster {self._cluster!r} cannot be reached: {'; '.join(reasons) or 'no member is configured'}"
        ) from problem

    def _exchange_signed(self, member: str, method: str, target: str, body: bytes, content_type: str) -> Answer:
        with self._asking:  # the numbers of the nonces arrive in their order
            answer, boot = self._exchange_once(member, method, target, body, content_type)
            if answer.status == 401 and self._secret is not None and boot not in ("", self._boots.get(member)):
                self._boots[member] = boot
                answer, _ = self._exchange_once(member, method, target, body, content_type)
        return answer

    def _exchange_once(
        self, member: str, method: str, target: str, body: bytes, content_type: str
    ) -> tuple[Answer, str]:
        headers = {CLUSTER: self._cluster, "content-type": content_type}
        if self._secret is not None:
            boot, nonce = self._boots.get(member, ""), f"{self._sender}-{next(self._numbers)}"
            signature = self._secret.sign(
                boot=boot, nonce=nonce, cluster=self._cluster, method=method, target=target, body=body
            )
            headers |= {BOOT: boot, AUTHORIZATION: f"{nonce} {signature}"}
        host, _, port = member.rpartition(":")
        connection = http.client.HTTPConnection(host.strip("[]"), int(port), timeout=self._connect_s)
        try:
            connection.connect()
            assert isinstance(connection.sock, socket.socket)
            connection.sock.settimeout(self._answer_s)
            connection.request(method, target, body, headers)
            response = connection.getresponse()
            found = Answer(response.status, response.read(), response.getheader("content-type") or "")
            return found, response.getheader(BOOT) or ""
        finally:
            connection.close()


def _message(answer: Answer) -> str:
    try:
        return stored.text(stored.parse(answer.body), "message")
    except StoredValueError:
        return f"the answer is HTTP {answer.status}: {answer.body[:200]!a}"
