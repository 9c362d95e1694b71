"""The storage of the simulated cluster, as files and as a database: slow, failing, full, out of reach; never lying.

The stores are the real ones. Below them, each primitive of the storage and each transaction takes effect at one moment
and is answered at a later one. An answer may be lost, so that nobody knows whether it took effect.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import sqlalchemy as sa
from attrs import define
from seatunnel_storage_jdbc.databases.sqlite import SQLite
from seatunnel_storage_mapstore.journal import Limits

from seatunnel_core.server.state.logged_store import LoggedStore
from seatunnel_core.server.state.sql_store import SqlStore
from seatunnel_core.server.state.store import ClusterStore
from seatunnel_storage_api.blob import Blob
from seatunnel_storage_api.errors import StorageAccessError, StorageUnavailableError
from seatunnel_storage_api.memory import MemoryStorage
from seatunnel_storage_api.retry import Backoff
from tests.server.simulation import threads
from tests.server.simulation.clock import OWNER, Life

if TYPE_CHECKING:
    from tests.server.simulation.world import World

Answer = TypeVar("Answer")

LIMITS = Limits(segment_bytes=6_000, most_segments=12)
"""Small, so that compactions happen all the time."""

LOCK_S = 10.0
"""A transaction waits so long for a row that another one has locked."""


def _travel(world: "World", operation: str, effect: Callable[[], Answer]) -> Answer:
    """Carry out an operation on another machine. It takes effect although its sender dies or stands still."""
    thread, life = threads.current(), OWNER.get()
    if thread is None:
        return effect()
    found: list[Any] = [world.fault(life, operation), None, None]

    def take_effect() -> None:
        if found[0] in ("", "doubt"):
            try:
                found[1] = effect()
            except Exception as error:
                found[2] = error
        threads.resume(thread, delay=world.delay() if found[0] in ("", "refused") else 1.0)

    world.at(world.delay(), take_effect)
    threads.wait()
    if found[0] == "refused":
        raise StorageAccessError("the storage is read-only")
    if found[0]:
        raise StorageUnavailableError("the storage does not answer")
    if found[2] is not None:
        raise found[2]
    answer: Answer = found[1]
    return answer


class Files(MemoryStorage):
    """One agent's way to the files that all share."""

    def __init__(self, world: "World", blobs: dict[str, bytes]) -> None:
        super().__init__(blobs)
        self._world = world
        self._backoff = Backoff(sleep=threads.sleep)

    def put_if_absent(self, key: str, body: bytes) -> bool:
        return _travel(self._world, "put", lambda: super(Files, self).put_if_absent(key, body))

    def read(self, key: str) -> bytes | None:
        return _travel(self._world, "read", lambda: super(Files, self).read(key))

    def list_blobs(self, prefix: str) -> Iterable[Blob]:
        return _travel(self._world, "list", lambda: super(Files, self).list_blobs(prefix))

    def delete(self, keys: Iterable[str]) -> None:
        for key in tuple(keys):  # one request each, so that a writer may die between two of them
            _travel(self._world, "delete", partial(super().delete, [key]))


@define(eq=False)
class Tables:
    """The tables that all share: SQLite in memory, whose one connection carries out a transaction at one moment."""

    engine: sa.Engine
    holder: Life | None = None
    """Whose transaction holds the lock; the database lets go of that of a dead one."""


class Database:
    """One agent's way to the tables, as ``seatunnel_storage_jdbc.database.Database``."""

    def __init__(self, world: "World", tables: Tables) -> None:
        self._world = world
        self._tables = tables
        self.dialect = SQLite()

    def __str__(self) -> str:
        return "tables in memory"

    @contextmanager
    def transaction(self, *, writes: bool = False) -> Iterator[sa.Connection]:
        """Give a connection in a transaction. One that writes holds the lock from its begin to its commit."""
        life = OWNER.get()
        if threads.current() is None:
            with self._tables.engine.begin() as connection:
                yield connection
            return
        fault = self._world.fault(life, "put" if writes else "read")
        if fault in ("lost", "refused"):
            threads.sleep(1.0)
            raise StorageUnavailableError("the database does not answer")
        threads.sleep(self._world.delay())
        if writes:
            self._lock(life)
        try:
            threads.sleep(self._world.delay())  # its statements; a writer that is paused here holds the lock
            if writes and self._tables.holder is not life:
                raise StorageUnavailableError("the database has ended the transaction")
            with self._tables.engine.begin() as connection:
                yield connection
        finally:
            if self._tables.holder is life:
                self._tables.holder = None
        threads.sleep(self._world.delay())
        if fault == "doubt":
            raise StorageUnavailableError("the database closed the connection within the commit")

    def _lock(self, life: Life | None) -> None:
        waited = 0.0
        while (holder := self._tables.holder) is not None and holder.alive and holder is not life:
            if waited > LOCK_S:
                raise StorageUnavailableError("a lock was waited for too long")
            threads.sleep(0.05)
            waited += 0.05
        while self._tables.holder is life:  # another connection of this process
            threads.sleep(0.01)
        self._tables.holder = life

    def require(self, *tables: sa.Table) -> None:
        """Make the tables."""
        for table in tables:
            table.create(self._tables.engine, checkfirst=True)

    def close(self) -> None:
        """Do nothing."""


class SharedFiles:
    """State in files."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self.blobs: dict[str, bytes] = {}

    def open(self) -> ClusterStore:
        """Return the store as one process opens it."""
        return LoggedStore(Files(self._world, self.blobs), "cluster/", limits=LIMITS)

    def died(self, life: Life) -> None:
        """Take in that a process died."""

    def copy(self) -> Callable[[], None]:
        """Return a function that brings the state of this moment back, as from a copy."""
        copied = dict(self.blobs)

        def bring_back() -> None:
            self.blobs.clear()
            self.blobs.update(copied)

        return bring_back

    def size(self) -> tuple[int, int]:
        """Return how many things are stored, and how many bytes."""
        return len(self.blobs), sum(map(len, self.blobs.values()))

    def close(self) -> None:
        """Let go of everything."""


class SharedTables:
    """State in a database."""

    def __init__(self, world: "World") -> None:
        self._world = world
        engine = sa.create_engine("sqlite://", poolclass=sa.pool.StaticPool)
        self._tables = Tables(engine)

    def open(self) -> ClusterStore:
        """Return the store as one process opens it."""
        database: Any = Database(self._world, self._tables)
        return SqlStore(database, "state", "cluster")

    def died(self, life: Life) -> None:
        """Let go of the lock of a process that died."""
        if self._tables.holder is life:
            self._tables.holder = None

    def copy(self) -> Callable[[], None]:
        """Return a function that brings the state of this moment back, as a failover to a replica does."""
        copied = self._driver().serialize()
        return lambda: self._driver().deserialize(copied)

    def _driver(self) -> Any:
        return self._tables.engine.raw_connection().driver_connection

    def size(self) -> tuple[int, int]:
        """Return how many entries are stored, and how many bytes."""
        with self._tables.engine.begin() as connection:
            rows, size = connection.exec_driver_sql("SELECT count(*), sum(length(value)) FROM state_entries").one()
        return rows, size or 0

    def close(self) -> None:
        """Let go of everything."""
        self._tables.engine.dispose()
