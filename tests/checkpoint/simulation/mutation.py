"""One rule of the protocol, broken."""

from collections.abc import Callable
from typing import Any

from attrs import frozen

from tests.checkpoint.simulation.world import World


@frozen
class Mutation:
    """One rule, broken."""

    rule: str
    what: str
    broken: Callable[[], Any]
    """A context manager in which the protocol, or the model around it, is broken."""

    prepare: Callable[[World], None] | None = None

    def __str__(self) -> str:
        return f"{self.rule}: {self.what}"
