"""HTTP client that tries the nodes of a cluster until one responds, with any kind of authentication."""

import contextlib
import errno
import http.client
import io
import json
import socket
import ssl
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from attrs import frozen

from seatunnel_core import stored
from seatunnel_core.control.knocking import knock
from seatunnel_core.errors import PlatformError, StoredValueError, UsageError

READ_S = 5.0
"""Time limit of a node for a request that changes nothing, in seconds, before the same is sent to the next node."""


LIVING_S = 2.5
"""Time limit of a node to show that it answers, before it gets a request that changes something, in seconds."""

_LIVING = "/internal/v1/members"
"""Each node answers this by itself, on any port; with which status does not matter."""


class NoLeaderError(PlatformError):
    """The nodes of a cluster can be reached, and none of them leads it now."""


@frozen
class Answer:
    """The response of a node."""

    status: int
    body: bytes
    content_type: str

    def json(self) -> Any:
        """Return the JSON value of the answer.

        Raises:
            PlatformError: the response is not JSON, so the server is not a node.
        """
        try:
            return stored.parse(self.body)
        except StoredValueError as error:
            raise PlatformError(f"the answer is no JSON, so no node of a cluster listens there: {error}") from error

    def message(self) -> str:
        """Return what an answer that refuses says."""
        try:
            return stored.text(stored.parse(self.body), "message")
        except StoredValueError:
            return f"the answer is HTTP {self.status}: {self.body[:200]!a}"


class NodeClient(ABC):
    """Tries the nodes of a cluster until one responds. Several are tried at once, so that dead nodes do not delay.

    Args:
        members: where nodes may be, as ``host:port``.
        called: what messages call the cluster.
        connect_s: for so long one node may take to accept a connection.
        answer_s: for so long it may take to answer.
    """

    def __init__(self, members: Sequence[str], called: str, *, connect_s: float, answer_s: float) -> None:
        self._members = tuple(members)
        self._answered = ""
        """The member that answered last."""

        self._called = called
        self._connect_s = connect_s
        self._answer_s = answer_s

    def ask(self, method: str, target: str, body: Any = None) -> Any:
        """Return the JSON answer of the first node that gives one.

        Raises:
            UsageError: it refuses, and why.
            NoLeaderError: nodes can be reached, and none leads the cluster.
            PlatformError: no node can be reached.
        """
        encoded = b"" if body is None else json.dumps(body).encode()
        return self.accepted(self.exchange(method, target, encoded, "application/json"))

    def accepted(self, answer: Answer) -> Any:
        """Return the JSON value of an answer that does not refuse.

        Raises:
            UsageError: it refuses, and why.
            NoLeaderError: the cluster has no leader.
            PlatformError: it is not a node's.
        """
        return accepted(answer, self._called)

    def exchange(self, method: str, target: str, body: bytes, content_type: str) -> Answer:
        """Return the answer of the first node that can be reached, whatever its status.

        The answer of a node that has no leader counts only if all others have none either.

        Raises:
            PlatformError: no node can be reached.
        """
        if method != "GET" and len(self._members) > 1 and not self._answered:
            self._find_living()
        last: Answer | None = None
        for answer_s in self._limits(method):
            failures: list[tuple[str, Exception]] = []
            with contextlib.closing(knock(self._ordered(), self._connect_s, failures)) as open_doors:
                for member, connected in open_doors:
                    try:
                        answer = self._exchanged(member, connected, answer_s, method, target, body, content_type)
                    except (OSError, http.client.HTTPException) as error:
                        failures.append((member, error))
                        continue
                    if answer.status != 503:
                        self._answered = member
                        return answer
                    last = answer
            if last is not None:
                return last
            if not any(isinstance(error, TimeoutError) for _, error in failures):
                break
        raise self._unreachable(failures) from (failures[-1][1] if failures else None)

    def _limits(self, method: str) -> tuple[float, ...]:
        """Return how long each node may take to answer, in one round over all nodes after the other.

        A node that hangs accepts connections and answers nothing. A request that changes nothing is sent to the next
        node soon; only if all nodes are slow, each of them gets the whole time.
        """
        is_short = method == "GET" and len(self._members) > 1 and self._answer_s > READ_S
        return (READ_S, self._answer_s) if is_short else (self._answer_s,)

    def _find_living(self) -> None:
        """Find a node that responds, because a request with effects is not repeated soon.

        So a hanging node at the head of the list does not delay the first request of a client. A node that is only
        slow to process a request gets the full time.
        """
        with contextlib.closing(knock(self._ordered(), min(self._connect_s, LIVING_S), [])) as open_doors:
            for member, connected in open_doors:
                with contextlib.suppress(OSError, http.client.HTTPException):
                    self._exchanged(member, connected, LIVING_S, "GET", _LIVING, b"", "application/json")
                    self._answered = member
                    return

    def learn(self, members: Iterable[str]) -> None:
        """Take in further members, which are asked when those that are known do not answer."""
        self._members = tuple(dict.fromkeys((*self._members, *filter(None, members))))

    def _ordered(self) -> tuple[str, ...]:
        """Return the members, the one that answered last before all others."""
        return tuple(dict.fromkeys((*filter(None, [self._answered]), *self._members)))

    def _unreachable(self, failures: Sequence[tuple[str, Exception]]) -> PlatformError:
        """Return the error for a cluster without a responding member."""
        reasons = [
            f"{member}: {getattr(error, 'strerror', None) or error or type(error).__name__}"
            for member, error in failures
        ]
        return PlatformError(f"{self._called} cannot be reached: {'; '.join(reasons) or 'no member is configured'}")

    @abstractmethod
    def _exchanged(
        self, member: str, connected: socket.socket, answer_s: float, method: str, target: str, body: bytes, kind: str
    ) -> Answer:
        """Return the answer of a member to which a socket is connected, and close that.

        Raises:
            OSError, http.client.HTTPException: it gives none within ``answer_s``.
        """


def accepted(answer: Answer, called: str) -> Any:
    """Return the JSON value of an answer that does not refuse; ``called`` is what messages call the cluster.

    Raises:
        UsageError: It refuses, and why.
        NoLeaderError: No node leads the cluster.
        PlatformError: It is not the answer of a node.
    """
    if answer.status == 503:
        raise NoLeaderError(f"{called} has no leader now: {answer.message()}")
    if answer.status >= 400:
        raise UsageError(answer.message())
    return answer.json()


class Connection(http.client.HTTPConnection):
    """A connection that begins with a connected socket, and ends at a deadline.

    A timeout of a socket limits each single read, so a node that hangs in the middle of an answer, or sends a byte now
    and then, would hold the caller forever.
    """

    def __init__(self, member: str, connected: socket.socket, answer_s: float) -> None:
        host, _, port = member.rpartition(":")
        super().__init__(host.strip("[]"), int(port), timeout=answer_s)
        connected.settimeout(answer_s)
        self.use(connected, time.monotonic() + answer_s)

    def use(self, connected: socket.socket, until: float) -> None:
        """Send and receive by a socket until a moment of the monotonic clock."""
        self._until = until
        self.sock = _TimedSocket(connected, until)

    def encrypt(self, context: ssl.SSLContext, connected: socket.socket) -> None:
        """Use TLS on the connected socket, within the same deadline."""
        self.use(context.wrap_socket(connected, server_hostname=self.host), self._until)


class _TimedSocket:
    """Socket for ``http.client`` that limits each operation to the remaining time."""

    def __init__(self, connected: socket.socket, until: float) -> None:
        self._connected = connected
        self._until = until

    def _limited(self) -> socket.socket:
        left_s = self._until - time.monotonic()
        if left_s <= 0:
            raise TimeoutError(errno.ETIMEDOUT, "the answer did not arrive in time")
        self._connected.settimeout(left_s)
        return self._connected

    def sendall(self, data: Any) -> None:
        """Send all bytes."""
        self._limited().sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        """Return a reader of what arrives."""
        return io.BufferedReader(_Received(self._limited, self._connected.makefile("rb", buffering=0)))

    def close(self) -> None:
        """Close the socket."""
        self._connected.close()


class _Received(io.RawIOBase):
    """The bytes that arrive at a socket."""

    def __init__(self, limited: Callable[[], object], received: io.RawIOBase) -> None:
        self._limited = limited
        self._received = received

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._limited()
        return self._received.readinto(buffer)

    def close(self) -> None:
        self._received.close()
        super().close()
