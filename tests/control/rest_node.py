"""A node of a cluster as far as its REST goes, which does what a test tells it."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from email.message import Message
from typing import Any

from attrs import define, field, frozen

from tests.servers.http_stand_in import StandIn, stand_in


@frozen
class Asked:
    """A request."""

    method: str
    target: str
    headers: Message
    body: bytes


@define(eq=False)
class RestNode:
    """Answers with what ``answer`` returns: a status and a JSON value."""

    answer: Callable[[Asked], tuple[int, Any]]
    address: str = ""
    asked: list[Asked] = field(factory=list)

    def targets(self) -> list[str]:
        """Return what was asked, in order."""
        return [f"{each.method} {each.target}" for each in self.asked]


@contextmanager
def rest_node(answer: Callable[[Asked], tuple[int, Any]]) -> Iterator[RestNode]:
    """Give a node that listens on loopback."""
    node = RestNode(answer)

    class Handler(StandIn):
        def answered(self) -> None:
            node.asked.append(Asked(self.command, self.path, self.headers, self.body()))
            status, value = node.answer(node.asked[-1])
            self.reply(status, value if isinstance(value, bytes) else json.dumps(value).encode())

        do_GET = do_POST = answered  # as http.server calls them

    with stand_in(Handler) as node.address:
        yield node


def in_turn(*answers: tuple[int, Any]) -> Callable[[Asked], tuple[int, Any]]:
    """Return these answers one after the other, and the last one again and again."""
    left: Sequence[tuple[int, Any]] = answers

    def answer(_asked: Asked) -> tuple[int, Any]:
        nonlocal left
        first, *rest = left
        left = rest or left
        return first

    return answer
