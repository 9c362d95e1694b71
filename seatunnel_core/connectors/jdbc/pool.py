"""Connection pools of ``connection_pool_size`` connections, one for each process and database.

A holder that already has a connection to any database gets further connections without waiting, because two units that
each wait for a second connection could deadlock. A pool may therefore exceed its size, by at most one connection for
each reader and writer of a unit.

A dialect may have two kinds of connections: control (statements, transactions) and bulk (rows). Both count towards the
pool size. An idle connection is reused for a request of the same kind, and closed if another kind is requested.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

from attrs import define, evolve, field

from seatunnel_core.connector_api.errors import ConnectorError
from seatunnel_core.connectors.jdbc.address import Address

CONTROL, BULK = "control", "bulk"

WAIT_S = 120.0
"""Timeout for waiting for a free connection, in seconds."""

_guard = threading.Lock()
_pools: dict[Address, "Pool"] = {}


@define(eq=False)
class _Holder:
    """A work unit, or a thread of the driver, that has connections."""

    count: int = 0


_holder: ContextVar[_Holder] = ContextVar("holder of connections")


def _this_holder() -> _Holder:
    found = _holder.get(None)
    if found is None:
        _holder.set(found := _Holder())
    return found


@define
class Lent:
    """A connection that is in use, and its holder."""

    kind: str
    connection: Any
    holder: _Holder


@define
class Pool:
    """Pool of this process's connections to one database."""

    size: int
    open: Callable[[str], Any]
    """Function that opens a connection of the given kind."""

    alive: Callable[[Any], bool]
    """Function that returns True if an idle connection still works, and leaves it at the beginning of a transaction."""

    _free: threading.Condition = field(init=False, factory=threading.Condition)
    _idle: list[Lent] = field(init=False, factory=list)
    _count: int = field(init=False, default=0)
    """Number of open connections, whether lent or idle."""

    _kept: int = field(init=False, default=0)
    """Number of connections held until the end of a job; not included in ``_count``."""

    @contextmanager
    def lend(self, kind: str = CONTROL) -> Iterator[Any]:
        """Lend a connection in a transaction, which is rolled back at the end unless the caller committed it."""
        lent = self.take(kind)
        try:
            yield lent.connection
        except BaseException:
            self.discard(lent)
            raise
        self.give_back(lent)

    def take(self, kind: str) -> Lent:
        """Take a connection until ``give_back`` or ``discard`` is called; raise ``ConnectorError`` after ``WAIT_S``."""
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
        """Open a connection that stays open until ``let_go`` is called.

        It counts towards the pool size, but at least one connection remains available to ``take``.
        """
        connection = self.open(kind)
        with self._free:
            self._kept += 1
        return connection

    def let_go(self, kept: Any) -> None:
        """Close a connection returned by ``keep``."""
        with suppress(Exception):
            kept.close()
        with self._free:
            self._kept -= 1
            self._free.notify()

    @property
    def _places(self) -> int:
        return max(1, self.size - self._kept)

    def give_back(self, lent: Lent) -> None:
        """Roll back uncommitted work, and return the connection to the pool."""
        try:
            lent.connection.rollback()
        except Exception:  # It is broken; the holder got an error or no longer needs it.
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
        """Close a connection that is no longer usable."""
        with self._free:
            lent.holder.count -= 1
        self._close(lent)

    def _close(self, lent: Lent) -> None:
        with suppress(Exception):
            lent.connection.close()
        self._gone()

    def close_idle(self) -> None:
        """Close all idle connections."""
        with self._free:
            idle, self._idle = self._idle, []
        for each in idle:
            self._close(each)

    def _gone(self) -> None:
        with self._free:
            self._count -= 1
            self._free.notify()

    def _next(self, kind: str, holder: _Holder) -> Lent | None:
        """Return an idle connection, preferably of this kind; ``None`` if the caller must open a new one."""
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
                        f"all {self.size} connections of this process to the database were in use for "
                        f"{WAIT_S:.0f} s; increase connection_pool_size, or decrease parallelism"
                    )
                    error.retryable = True
                    raise error


def pool_of(address: Address, size: int, open: Callable[[str], Any], alive: Callable[[Any], bool]) -> Pool:
    """Return this process's pool for a database; the pool's size is the largest size requested so far."""
    with _guard:
        found = _pools.get(address)
        if found is None:
            found = _pools[address] = Pool(size, open, alive)
        found.size = max(found.size, size)
        return found


def forget() -> None:
    """Drop all pools and close their idle connections; lent connections stay with their holders."""
    with _guard:
        pools = list(_pools.values())
        _pools.clear()
    for pool in pools:
        pool.close_idle()
