"""HTTP client that tries the nodes of a cluster until one responds. Subclasses add authentication."""

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
"""Seconds to wait for the response to a read-only request before it is sent to the next node."""


LIVING_S = 2.5
"""Seconds to wait for the response to a test request, which precedes a request with side effects."""

_LIVING = "/internal/v1/members"
"""Path of the test request. Every node serves it on all its ports; any status is accepted."""


class NoLeaderError(PlatformError):
    """The nodes respond, but the cluster has no leader."""


class JobStoppingError(PlatformError):
    """A job that is being stopped was submitted again: it can be restored once it has ended."""


STOPPING = "stopping"
"""Code of the response for which ``JobStoppingError`` is raised."""


@frozen
class Answer:
    """Response of a node."""

    status: int
    body: bytes
    content_type: str

    def json(self) -> Any:
        """Return the JSON value of the response; raise ``PlatformError`` if it was not sent by a node."""
        try:
            return stored.parse(self.body)
        except StoredValueError as error:
            raise PlatformError(f"the response is not JSON, so it did not come from a cluster node: {error}") from error

    def message(self) -> str:
        """Return the message of an error response."""
        try:
            return stored.text(stored.parse(self.body), "message")
        except StoredValueError:
            return f"the response is HTTP {self.status}: {self.body[:200]!a}"

    def code(self) -> str:
        """Return the code of an error response; empty if it has none."""
        try:
            return stored.text(stored.parse(self.body), "code")
        except StoredValueError:
            return ""


class NodeClient(ABC):
    """Client that connects to the nodes of a cluster in parallel, so that dead nodes cause no delay."""

    def __init__(self, members: Sequence[str], called: str, *, connect_s: float, answer_s: float) -> None:
        self._members = tuple(members)
        self._answered = ""
        """Member that responded last; empty before the first response."""

        self._called = called
        self._connect_s = connect_s
        self._answer_s = answer_s

    def ask(self, method: str, target: str, body: Any = None) -> Any:
        """Send a request and return the JSON value of the response.

        Raises:
            UsageError: The request is rejected; the message states why.
            NoLeaderError: The nodes respond, but the cluster has no leader.
            JobStoppingError: The submitted job is being stopped.
            PlatformError: No node responds, or a server that is not a node responds.
        """
        encoded = b"" if body is None else json.dumps(body).encode()
        return self.accepted(self.exchange(method, target, encoded, "application/json"))

    def accepted(self, answer: Answer) -> Any:
        """Return the JSON value of a successful response; otherwise raise the errors of ``ask``."""
        return accepted(answer, self._called)

    def exchange(self, method: str, target: str, body: bytes, content_type: str) -> Answer:
        """Return the first response, preferably not with status 503; raise ``PlatformError`` if there is none."""
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
        """Return the seconds to wait for a node's response in each round over all nodes.

        A hanging node accepts connections but does not respond, so a read-only request is soon sent to the next node.
        In the second round, slow nodes have the full time limit.
        """
        is_short = method == "GET" and len(self._members) > 1 and self._answer_s > READ_S
        return (READ_S, self._answer_s) if is_short else (self._answer_s,)

    def _find_living(self) -> None:
        """Find a responsive node before a request with side effects, which has a long time limit.

        Otherwise a hanging node that is first in the list would delay the first request of a client.
        """
        with contextlib.closing(knock(self._ordered(), min(self._connect_s, LIVING_S), [])) as open_doors:
            for member, connected in open_doors:
                with contextlib.suppress(OSError, http.client.HTTPException):
                    self._exchanged(member, connected, LIVING_S, "GET", _LIVING, b"", "application/json")
                    self._answered = member
                    return

    def learn(self, members: Iterable[str]) -> None:
        """Add members to try if the known members do not respond."""
        self._members = tuple(dict.fromkeys((*self._members, *filter(None, members))))

    def _ordered(self) -> tuple[str, ...]:
        """Return the members, starting with the member that responded last."""
        return tuple(dict.fromkeys((*filter(None, [self._answered]), *self._members)))

    def _unreachable(self, failures: Sequence[tuple[str, Exception]]) -> PlatformError:
        reasons = [
            f"{member}: {getattr(error, 'strerror', None) or error or type(error).__name__}"
            for member, error in failures
        ]
        return PlatformError(f"{self._called} cannot be reached: {'; '.join(reasons) or 'no member is configured'}")

    @abstractmethod
    def _exchanged(
        self, member: str, connected: socket.socket, answer_s: float, method: str, target: str, body: bytes, kind: str
    ) -> Answer:
        """Send a request over a connected socket, return the response, and close the socket.

        Raises:
            OSError, http.client.HTTPException: No valid response arrived within ``answer_s``.
        """


def accepted(answer: Answer, called: str) -> Any:
    """Return the JSON value of a successful response; ``called`` is the name of the cluster for messages.

    Raises:
        UsageError: The request was rejected; the message states why.
        NoLeaderError: The cluster has no leader.
        JobStoppingError: The submitted job is being stopped.
        PlatformError: The response was not sent by a node.
    """
    if answer.status == 503 and answer.code() == STOPPING:
        raise JobStoppingError(answer.message())
    if answer.status == 503:
        raise NoLeaderError(f"{called} has no leader now: {answer.message()}")
    if answer.status >= 400:
        raise UsageError(answer.message())
    return answer.json()


class Connection(http.client.HTTPConnection):
    """HTTP connection over a connected socket, with a deadline for the whole exchange.

    A socket timeout is not sufficient: it limits single reads, so a node that sends a byte from time to time would
    block the caller forever.
    """

    def __init__(self, member: str, connected: socket.socket, answer_s: float) -> None:
        host, _, port = member.rpartition(":")
        super().__init__(host.strip("[]"), int(port), timeout=answer_s)
        connected.settimeout(answer_s)
        self.use(connected, time.monotonic() + answer_s)

    def use(self, connected: socket.socket, until: float) -> None:
        """Use a socket until a deadline in monotonic seconds."""
        self._until = until
        self.sock = _TimedSocket(connected, until)

    def encrypt(self, context: ssl.SSLContext, connected: socket.socket) -> None:
        """Use TLS on the connected socket, within the same deadline."""
        self.use(context.wrap_socket(connected, server_hostname=self.host), self._until)


class _TimedSocket:
    """Socket for ``http.client`` that limits each operation to the time left."""

    def __init__(self, connected: socket.socket, until: float) -> None:
        self._connected = connected
        self._until = until

    def _limited(self) -> socket.socket:
        left_s = self._until - time.monotonic()
        if left_s <= 0:
            raise TimeoutError(errno.ETIMEDOUT, "the response did not arrive in time")
        self._connected.settimeout(left_s)
        return self._connected

    def sendall(self, data: Any) -> None:
        self._limited().sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Received(self._limited, self._connected.makefile("rb", buffering=0)))

    def close(self) -> None:
        self._connected.close()


class _Received(io.RawIOBase):
    """Reader for a socket, with a deadline."""

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
