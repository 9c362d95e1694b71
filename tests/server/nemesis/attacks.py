"""What strangers and failing servers do to a cluster: idle connections, requests that never end, an older state."""

import contextlib
import random
import socket
from collections.abc import Iterator

from tests.server.nemesis.ground import Ground, Member
from tests.server.nemesis.kinds import LONG, kind

IDLE, SLOW = 1_200, 100
"""Connections at once: more than a port accepts, and more than any pool has threads."""

TABLE = "seatunnel_clusters"


@kind("idle connections to a node", LONG)
def _idle(ground: Ground, draw: random.Random) -> Iterator[None]:
    yield from _connected(draw.choice(ground.members), IDLE, b"")


@kind("requests that do not end", LONG)
def _endless(ground: Ground, draw: random.Random) -> Iterator[None]:
    head = b"POST /internal/v1/submit HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 1000000\r\n"
    yield from _connected(draw.choice(ground.members), SLOW, draw.choice((head, head + b"\r\n{")))


def _connected(member: Member, count: int, sent: bytes) -> Iterator[None]:
    """Open connections to a member, send the same by each, and keep them as long as the member does."""
    with contextlib.ExitStack() as resources:
        for _ in range(count):
            with contextlib.suppress(OSError):  # a full port closes them
                opened = socket.create_connection((member.node.ip, member.node.port), timeout=1.0)
                resources.enter_context(opened)
                opened.sendall(sent)
        yield


@kind("the database is an older state for a while", LONG, fits=lambda ground: ground.database is not None)
def _older_state(ground: Ground, _draw: random.Random) -> Iterator[None]:
    """As after a failover to a replica that lacks the last changes, until the operator fails back."""
    assert ground.database is not None
    with ground.database.changing() as cursor:
        cursor.execute(f"SELECT term, changes FROM {TABLE}")
        row = cursor.fetchone()
        if row is None or row[1] < 1:
            raise LookupError("nothing has changed in this term")
        term, changes = row
        cursor.execute(f"UPDATE {TABLE} SET changes = {changes - 1} WHERE term = {term} AND changes = {changes}")
        if cursor.rowcount != 1:  # otherwise, the newest change could not be brought back
            raise LookupError("the state has just changed")
    yield
    with ground.database.changing() as cursor:
        cursor.execute(f"UPDATE {TABLE} SET changes = {changes} WHERE term = {term} AND changes < {changes}")
