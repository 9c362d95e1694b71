"""The connections of one process to one database: ``connection_pool_size`` says how many may use it at a time.

Who has a connection, of whatever database, waits for no other one: a work unit that reads from a database and writes
into it has one for each, and nobody whom it would wait for could be waiting for it. So a pool may have more connections
than its size, at the most one for each reader and writer of a unit.

A dialect may have two kinds of connections: one that controls (statements, transactions), and one that moves rows. Both
count. One that is given back goes on to the next who needs its kind, and is closed when another kind is needed.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

from attrs import define, evolve, field

from seatunnel_core.connectors.jdbc.address import Address
from seatunnel_core.errors import ConnectorError

CONTROL, BULK = "control", "bulk"

WAIT_S = 120.0
"""After so long without a free connection an error says so."""

_guard = threading.Lock()
_pools: dict[Address, "Pool"] = {}


@define(eq=False)
class _Holder:
    """Who has connections: a work unit, which has a context of its own, or a thread of the driver."""

    count: int = 0


_holder: ContextVar[_Holder] = ContextVar("holder of connections")


def _this_holder() -> _Holder:
    found = _holder.get(None)
    if found is None:
        _holder.set(found := _Holder())
    return found


@define
class Lent:
    """A connection while somebody has it."""

    kind: str
    connection: Any
    holder: _Holder


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

    _kept: int = field(init=False, default=0)
    """And how many are held until the end of a job."""

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
            ConnectorError: all were lent all the time, and who asks has none.
        """
        holder = _this_holder()
        while True:
            found = self._next(kind, holder)
            if found is None:
                try:
                    found = Lent(kind, self.open(kind), holder)
                except BaseException:
                    self._gone()
                    raise
            elif found.kind != kind or not self.alive(found.connection):
                self._close(found)
                continue
            with self._free:
                holder.count += 1
            return evolve(found, holder=holder)

    def keep(self, kind: str) -> Any:
        """A connection that is held until the end of a job. It takes a place, unless it were the last one: whoever
        waited for that would wait for the end of the job."""
        connection = self.open(kind)
        with self._free:
            self._kept += 1
        return connection

    def let_go(self, kept: Any) -> None:
        with suppress(Exception):
            kept.close()
        with self._free:
            self._kept -= 1
            self._free.notify()

    @property
    def _places(self) -> int:
        return max(1, self.size - self._kept)

    def give_back(self, lent: Lent) -> None:
        """Roll back what was not committed, and keep the connection for others."""
        try:
            lent.connection.rollback()
        except Exception:  # it is broken, and whoever had it has seen that or does not care
            self.discard(lent)
            return
        with self._free:
            lent.holder.count -= 1
            stays = self._count <= self._places
            if stays:
                self._idle.append(lent)
                self._free.notify()
        if not stays:
            self._close(lent)

    def discard(self, lent: Lent) -> None:
        """Close it."""
        with self._free:
            lent.holder.count -= 1
        self._close(lent)

    def _close(self, lent: Lent) -> None:
        with suppress(Exception):
            lent.connection.close()
        self._gone()

    def close_idle(self) -> None:
        """Close what nobody has."""
        with self._free:
            idle, self._idle = self._idle, []
        for each in idle:
            self._close(each)

    def _gone(self) -> None:
        with self._free:
            self._count -= 1
            self._free.notify()

    def _next(self, kind: str, holder: _Holder) -> Lent | None:
        """One that lies idle, of this kind or of another one; ``None`` when one more may be opened."""
        deadline = time.monotonic() + WAIT_S
        with self._free:
            while True:
                of_kind = [each for each in self._idle if each.kind == kind]
                if of_kind:
                    self._idle.remove(of_kind[-1])
                    return of_kind[-1]
                if self._count < self._places:
                    self._count += 1
                    return None
                if self._idle:
                    return self._idle.pop(0)
                if holder.count:
                    self._count += 1
                    return None
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
