"""The end of a cluster's HTTP where somebody asks: a client, or a node that forwards."""

import contextlib
import hmac
import http.client
import itertools
import json
import secrets
import socket
import threading
from collections.abc import Iterable, Sequence
from typing import Any

from attrs import frozen

from seatunnel_core import stored
from seatunnel_core.control.knocking import knock
from seatunnel_core.control.signing import ANSWER, AUTHORIZATION, BOOT, CLUSTER, DIGEST, Secret, digest_of
from seatunnel_core.errors import PlatformError, StoredValueError, UsageError


class NoLeaderError(PlatformError):
    """The nodes of a cluster can be reached, and none of them leads it now."""


class UnsignedAnswerError(PlatformError):
    """What answers a member's requests does not know the cluster's secret."""


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
    """Asks nodes of a cluster until one answers. Those that are gone hold nobody up: several are tried at once.

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
        self._answered = ""
        """The member that answered last."""

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
        failures: list[tuple[str, Exception]] = []
        last: Answer | None = None
        with contextlib.closing(knock(self._ordered(), self._connect_s, failures)) as open_doors:
            for member, connected in open_doors:
                try:
                    answer = self._exchange_signed(member, connected, method, target, body, content_type)
                except (OSError, http.client.HTTPException) as error:
                    failures.append((member, error))
                    continue
                if answer.status != 503:
                    self._answered = member
                    return answer
                last = answer
        if last is not None:
            return last
        reasons = [
            f"{member}: {getattr(error, 'strerror', None) or error or type(error).__name__}"
            for member, error in failures
        ]
        unsigned = any(isinstance(error, _UnsignedError) for _, error in failures)
        raise (UnsignedAnswerError if unsigned else PlatformError)(
            f"the cluster {self._cluster!r} cannot be reached: {'; '.join(reasons) or 'no member is configured'}"
        ) from (failures[-1][1] if failures else None)

    def learn(self, members: Iterable[str]) -> None:
        """Take in further members, which are asked when those that are known do not answer."""
        self._members = tuple(dict.fromkeys((*self._members, *filter(None, members))))

    def _ordered(self) -> tuple[str, ...]:
        """Return the members, the one that answered last before all others."""
        return tuple(dict.fromkeys((*filter(None, [self._answered]), *self._members)))

    def _exchange_signed(
        self, member: str, connected: socket.socket, method: str, target: str, body: bytes, content_type: str
    ) -> Answer:
        with self._asking:  # the numbers of the nonces arrive in their order
            connection = _Connection(member, connected, self._answer_s)
            try:
                answer, boot = self._exchange_once(member, connection, method, target, body, content_type)
                if answer.status == 401 and self._secret is not None and boot not in ("", self._boots.get(member)):
                    self._boots[member] = boot
                    answer, _ = self._exchange_once(member, connection, method, target, body, content_type)
            finally:
                connection.close()
        return answer

    def _exchange_once(
        self, member: str, connection: "_Connection", method: str, target: str, body: bytes, content_type: str
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


class _Connection(http.client.HTTPConnection):
    """A connection that begins with a socket which is connected already."""

    def __init__(self, member: str, connected: socket.socket, answer_s: float) -> None:
        host, _, port = member.rpartition(":")
        super().__init__(host.strip("[]"), int(port), timeout=answer_s)
        connected.settimeout(answer_s)
        self.sock = connected


def _message(answer: Answer) -> str:
    try:
        return stored.text(stored.parse(answer.body), "message")
    except StoredValueError:
        return f"the answer is HTTP {answer.status}: {answer.body[:200]!a}"
