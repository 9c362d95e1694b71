"""Connections to the first of several addresses that responds, as in RFC 8305 ("happy eyeballs")."""

import errno
import os
import selectors
import socket
import time
from collections import deque
from collections.abc import Generator, Sequence

from attrs import frozen

NEXT_S = 0.2
"""Seconds before the next address is tried in parallel."""

_UNDER_WAY = (0, errno.EINPROGRESS, errno.EWOULDBLOCK)


@frozen
class _Door:
    member: str
    until: float


def knock(
    members: Sequence[str], connect_s: float, failures: list[tuple[str, Exception]]
) -> Generator[tuple[str, socket.socket], None, None]:
    """Yield members (``host:port``) with connected sockets, in the order of connection. The caller closes the sockets.

    Members are tried in order; the next one is tried after a failure, or after ``NEXT_S`` without a response. Members
    that could not be reached are added to ``failures`` with the reason.
    """
    waiting = deque(members)
    next_at = 0.0
    with selectors.PollSelector() as doors:  # needs no additional descriptor
        try:
            while waiting or doors.get_map():
                now = time.monotonic()
                if waiting and (now >= next_at or not doors.get_map()):
                    member = waiting.popleft()
                    next_at = now + NEXT_S if _begin(doors, member, now + connect_s, failures) else now
                for key, _ in doors.select(0 if waiting and not doors.get_map() else 0.02):
                    connected, attempt = key.fileobj, key.data
                    assert isinstance(connected, socket.socket)
                    doors.unregister(connected)
                    failure = connected.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                    if failure:
                        connected.close()
                        failures.append((attempt.member, OSError(failure, os.strerror(failure))))
                        next_at = 0.0
                    else:
                        yield attempt.member, connected
                _give_up(doors, failures, connect_s)
        finally:
            for key in list(doors.get_map().values()):
                key.fileobj.close()  # type: ignore[union-attr]


def _begin(doors: selectors.BaseSelector, member: str, until: float, failures: list[tuple[str, Exception]]) -> bool:
    """Start connecting to all addresses of a member; return True if the member has an address."""
    host, _, port = member.rpartition(":")
    began = False
    try:
        found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
    except (OSError, ValueError) as error:
        failures.append((member, error))
        return False
    for family, kind, _, _, address in found:
        try:
            connecting = socket.socket(family, kind)
        except OSError as error:
            failures.append((member, error))
            continue
        connecting.setblocking(False)
        connecting.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        failure = connecting.connect_ex(address)
        if failure in _UNDER_WAY:
            doors.register(connecting, selectors.EVENT_WRITE, _Door(member, until))
            began = True
        else:
            connecting.close()
            failures.append((member, OSError(failure, os.strerror(failure))))
    return began


def _give_up(doors: selectors.BaseSelector, failures: list[tuple[str, Exception]], connect_s: float) -> None:
    now = time.monotonic()
    for key in list(doors.get_map().values()):
        if now >= key.data.until:
            doors.unregister(key.fileobj)
            key.fileobj.close()  # type: ignore[union-attr]
            failures.append((key.data.member, TimeoutError(errno.ETIMEDOUT, f"no answer after {connect_s:g} s")))
