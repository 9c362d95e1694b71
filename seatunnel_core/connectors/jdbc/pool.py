"""The connections of one process to one database: no more than ``connection_pool_size``, whoever needs them.

A dialect may have two kinds of connections: one that controls (statements, transactions), and one that moves rows. Both
count. One that is given back goes on to the next who needs its kind, and is closed when another kind is needed.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from attrs import define, field

from seatunnel_core.connectors.jdbc.address import Address
from seatunnel_core.errors import ConnectorError

CONTROL, BULK = "control", "bulk"

WAIT_S = 120.0
"""After so long without a free connection an error says so."""

_guard = threading.Lock()
_pools: dict[Address, "Pool"] = {}


@define
class Lent:
    """A connection while somebody has it."""

    kind: str
    connection: Any


@define
class Pool:
    """Lends connections."""

    size: int
    open: Callable[[str], Any]
    """Opens a connection of a kind."""

    alive: Callable[[Any], bool]
    """Whether a connection that lay idle still answers, at the beginning of a transaction."""

    _free: threading.Condition = field(init=False, factory=threading.Condition)
    _idle: list[Lent] = field(init=False, factory=list)
    _count: int = field(init=False, default=0)
    """How many are open, lent or idle."""

    @contextmanager
    def lend(self, kind: str = CONTROL) -> Iterator[Any]:
        """A connection in a transaction, which is rolled back at the end unless it was committed before."""
        lent = self.take(kind)
        try:
            yield lent.connection
        except BaseException:
            self.discard(lent)
            raise
        self.give_back(lent)

    def take(self, kind: str) -> Lent:
        """A connection for as long as one likes.

        Raises:
            ConnectorError: all were lent all the time.
        """
        while True:
            found = self._next(kind)
            if found is None:
                try:
                    return Lent(kind, self.open(kind))
                except BaseException:
                    self._gone()
                    raise
            if found.kind == kind and self.alive(found.connection):
                return found
            self.discard(found)

    def give_back(self, lent: Lent) -> None:
        """Roll back what was not committed, and keep the connection for others."""
        try:
            lent.connection.rollback()
        except Exception:  # it is broken, and whoever had it has seen that or does not care
            self.discard(lent)
            return
        with self._free:
            self._idle.append(lent)
            self._free.notify()

    def discard(self, lent: Lent) -> None:
        """Close it."""
        with suppress(Exception):
            lent.connection.close()
        self._gone()

    def close_idle(self) -> None:
        """Close what nobody has."""
        with self._free:
            idle, self._idle = self._idle, []
        for each in idle:
            self.discard(each)

    def _gone(self) -> None:
        with self._free:
            self._count -= 1
            self._free.notify()

    def _next(self, kind: str) -> Lent | None:
        """One that lies idle, of this kind or of another one; ``None`` when one more may be opened."""
        deadline = time.monotonic() + WAIT_S
        with self._free:
            while True:
                of_kind = [each for each in self._idle if each.kind == kind]
                if of_kind:
                    self._idle.remove(of_kind[-1])
                    return of_kind[-1]
                if self._count < self.size:
                    self._count += 1
                    return None
                if self._idle:
                    return self._idle.pop(0)
                if not self._free.wait(deadline - time.monotonic()):
                    error = ConnectorError(
                        f"all {self.size} connections of this process to the database were in use for {WAIT_S:.0f} s; "
                        "give connection_pool_size a larger number, or parallelism a smaller one"
                    )
                    error.retryable = True
                    raise error


def pool_of(address: Address, size: int, open: Callable[[str], Any], alive: Callable[[Any], bool]) -> Pool:
    """The pool of this process for a database; the largest size that anybody asks for holds."""
    with _guard:
        found = _pools.get(address)
        if found is None:
            found = _pools[address] = Pool(size, open, alive)
        found.size = max(found.size, size)
        return found


def forget() -> None:
    """Begin anew, as a new process does. What is lent stays with who has it."""
    with _guard:
        pools = list(_pools.values())
        _pools.clear()
    for pool in pools:
        pool.close_idle()
