"""The cluster's state in database tables.

::

    <prefix>_clusters    a row per cluster: newest term, number of changes in that term, last heartbeat
    <prefix>_entries     entries of all clusters, a row per MiB of a value

Every change starts with an UPDATE of the cluster's row that matches only the term of the writer. The row stays locked
until the commit, which serializes claims and changes: a change commits before a claim reads the entries, or is
rejected. Each change also has a number in its term, so that a change without a response can be repeated safely.
"""

import secrets
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Any, TypeVar

import sqlalchemy as sa
from seatunnel_storage_jdbc.database import PART_BYTES, Database, bytes_column, key_column, table
from sqlalchemy.exc import IntegrityError

from seatunnel_core.server.errors import DeposedError, StateUnavailableError, StateWentBackError
from seatunnel_core.server.state.newest_seen import went_back
from seatunnel_core.server.state.store import ClusterStore, Lease, Observation, Version
from seatunnel_storage_api.errors import CheckpointStorageError
from seatunnel_storage_api.retry import Backoff

NAME_CHARACTERS = 500
_KEY_CHARACTERS = 200
_PATIENCE = Backoff(attempts=6)
"""Retry policy for lost connections, deadlocks and quick restarts of the server: about 1.5 s in total."""

_NOT_KNOWN = 2**62
"""Placeholder for the unknown number of changes of the previous term if a repeated claim had already succeeded."""

Answer = TypeVar("Answer")


class SqlStore(ClusterStore):
    """A cluster's state in a database, which ``close`` also closes. ``name`` identifies the cluster in the tables."""

    def __init__(self, database: Database, prefix: str, name: str) -> None:
        self._database = database
        self.name = name
        self.clusters = _clusters(prefix)
        self.entries = _entries(prefix)
        _PATIENCE.call(lambda: database.require(self.clusters, self.entries))

    def describe(self) -> str:
        return f"{self.name} in {self.clusters.name} of {self._database}"

    def claim(self) -> "SqlLease":
        claimant = secrets.token_hex(16)
        before = self.attempt(self._claimed)
        changes, entries = self.attempt(lambda: self._take(before, claimant))
        return SqlLease(self, before + 1, entries, (before, changes))

    def _claimed(self) -> int:
        """Return the newest term; create the cluster's row if it does not exist."""
        with self._database.transaction() as connection:
            term: int | None = connection.execute(sa.select(self.clusters.c.term).where(self.mine)).scalar()
        if term is None:
            try:
                with self.change() as connection:
                    connection.execute(
                        sa.insert(self.clusters).values(
                            name=self.name, term=0, claimant="", changes=0, beat_term=0, beat=0, body=b""
                        )
                    )
            except IntegrityError:
                return self._claimed()  # another node claimed first
        return term or 0

    def _take(self, before: int, claimant: str) -> tuple[int, dict[str, bytes]]:
        """Claim the term after ``before``; return the number of changes of term ``before``, and the entries."""
        columns = self.clusters.c
        with self.change() as connection:
            changes = connection.execute(sa.select(columns.changes).where(self.mine, columns.term == before)).scalar()
            take = sa.update(self.clusters).where(self.mine, columns.term == before)
            if connection.execute(take.values(term=before + 1, claimant=claimant, changes=0)).rowcount == 0:
                row = connection.execute(sa.select(columns.term, columns.claimant).where(self.mine)).one_or_none()
                if row is None or (row.term, row.claimant) != (before + 1, claimant):  # otherwise a response was lost
                    raise DeposedError(f"another node claimed term {before + 1} of {self.describe()} first")
                self.confirm(connection)
                changes = _NOT_KNOWN
            return changes or 0, self.read_with(connection)

    def observe(self) -> Observation:
        columns = self.clusters.c
        wanted = sa.select(columns.term, columns.changes, columns.beat_term, columns.beat, columns.body)
        wanted = wanted.where(self.mine)

        def ask() -> Observation:
            with self._database.transaction() as connection:
                row = connection.execute(wanted).one_or_none()
            if row is None:
                return Observation(claimed=0, term=0, number=0, body=b"", version=(0, 0))
            body, version = bytes(row.body), (row.term, row.changes)
            return Observation(claimed=row.term, term=row.beat_term, number=row.beat, body=body, version=version)

        return self.once(ask)

    def read(self) -> dict[str, bytes]:
        def ask() -> dict[str, bytes]:
            with self._database.transaction() as connection:
                return self.read_with(connection)

        return self.attempt(ask)

    def read_with(self, connection: sa.Connection) -> dict[str, bytes]:
        """Return the entries, read consistently by one statement."""
        columns = self.entries.c
        wanted = sa.select(columns.entry, columns.value).where(columns.cluster == self.name)
        parts: dict[str, list[bytes]] = {}
        for entry, value in connection.execute(wanted.order_by(columns.entry, columns.number)):
            parts.setdefault(entry, []).append(value)
        return {entry: b"".join(values) for entry, values in parts.items()}

    def close(self) -> None:
        self._database.close()

    @property
    def mine(self) -> sa.ColumnElement[bool]:
        """Condition that selects this cluster's row."""
        return self.clusters.c.name == self.name

    def change(self) -> AbstractContextManager[sa.Connection]:
        """Open a connection with a write transaction."""
        return self._database.transaction(writes=True)

    def confirm(self, connection: sa.Connection) -> None:
        """Write a row, so that everything read in the transaction is durable once it commits.

        MySQL makes commits visible before it syncs its log. Syncing a later commit also syncs earlier ones.
        """
        if self._database.dialect.shows_before_durable:
            mark = f"confirm/{secrets.token_hex(16)}"
            _put(connection, self.entries, self.name, {mark: b""})
            _put(connection, self.entries, self.name, {mark: None})

    def attempt(self, action: Callable[[], Answer]) -> Answer:
        """Run an action with retries and return its result. Raise StateUnavailableError if all attempts fail."""
        return self.once(lambda: _PATIENCE.call(action))

    def once(self, action: Callable[[], Answer]) -> Answer:
        """Run an action without retries and return its result. Used for reads and heartbeats, which recur soon."""
        try:
            return action()
        except (CheckpointStorageError, IntegrityError, OSError) as error:
            raise StateUnavailableError(f"the cluster's state is not available: {error}") from error


class SqlLease(Lease):
    """Lease of one term, with the entries as of its last change."""

    def __init__(self, store: SqlStore, term: int, entries: dict[str, bytes], claimed_from: Version) -> None:
        self._store = store
        self._term = term
        self.version = (term, 0)
        self.claimed_from = claimed_from
        self._entries = entries
        self._changes = 0
        self._changing = threading.Lock()
        self._over = ""
        """Reason for the end of the lease; empty while the lease is valid."""

    @property
    def term(self) -> int:
        return self._term

    @property
    def entries(self) -> Mapping[str, bytes]:
        return MappingProxyType(self._entries)

    def commit(self, changes: Mapping[str, bytes | None]) -> None:
        with self._changing:
            self._require_held()
            try:
                self._store.attempt(lambda: self._write(self._changes + 1, changes))
            except (DeposedError, StateUnavailableError) as error:
                self._over = str(error)
                raise
            self._changes += 1
            self.version = (self._term, self._changes)
            for key, value in changes.items():
                if value is None:
                    self._entries.pop(key, None)
                else:
                    self._entries[key] = value

    def _write(self, number: int, changes: Mapping[str, bytes | None]) -> None:
        columns = self._store.clusters.c
        with self._store.change() as connection:
            if self._updated(connection, columns.changes == number - 1, changes=number):
                _put(connection, self._store.entries, self._store.name, changes)
                return
            row = self._row(connection)
            if row is None or (row.term, row.changes) != (self._term, number):  # otherwise a response was lost
                raise self._lost(row)
            self._store.confirm(connection)

    def _row(self, connection: sa.Connection) -> Any:
        columns = self._store.clusters.c
        return connection.execute(sa.select(columns.term, columns.changes).where(self._store.mine)).one_or_none()

    def renew(self, number: int, body: bytes) -> None:
        changes = self._store.clusters.c.changes

        def write() -> None:
            with self._store.change() as connection:
                known = changes >= self.version[-1]
                if not self._updated(connection, known, beat_term=self._term, beat=number, body=body):
                    raise self._lost(self._row(connection))

        self._require_held()
        self._store.once(write)

    def _updated(self, connection: sa.Connection, when: sa.ColumnElement[bool], **values: Any) -> bool:
        """Update the cluster's row, which stays locked until the commit; return True if it still has this term."""
        clusters = self._store.clusters
        mine = sa.update(clusters).where(self._store.mine, clusters.c.term == self._term, when)
        return connection.execute(mine.values(**values)).rowcount == 1

    def _lost(self, row: Any) -> DeposedError | StateWentBackError:
        """Return the error for a lost lease: another node has claimed the state, or the row is older than expected."""
        found = None if row is None else (row.term, row.changes)
        if found is None or found < self.version:
            return StateWentBackError(went_back(self._store.describe(), found=found, seen=self.version))
        return DeposedError(
            f"another node leads: {self._store.describe()} has term {row.term}, and this node had term {self._term}"
        )

    def _require_held(self) -> None:
        if self._over:
            raise StateUnavailableError(f"the lease of term {self._term} has ended: {self._over}")

    def release(self) -> None:
        self._over = self._over or "it was released"


def _put(connection: sa.Connection, entries: sa.Table, name: str, changes: Mapping[str, bytes | None]) -> None:
    columns = entries.c
    for key, value in sorted(changes.items()):
        connection.execute(sa.delete(entries).where(columns.cluster == name, columns.entry == key))
        for number, start in enumerate(range(0, max(1, len(value or b"")), PART_BYTES)):
            if value is not None:
                part = value[start : start + PART_BYTES]
                connection.execute(sa.insert(entries).values(cluster=name, entry=key, number=number, value=part))


def _clusters(prefix: str) -> sa.Table:
    return table(
        f"{prefix}_clusters",
        key_column("name", NAME_CHARACTERS, primary_key=True),
        sa.Column("term", sa.BigInteger, nullable=False),
        key_column("claimant", 32),
        sa.Column("changes", sa.BigInteger, nullable=False),
        sa.Column("beat_term", sa.BigInteger, nullable=False),
        sa.Column("beat", sa.BigInteger, nullable=False),
        bytes_column("body"),
    )


def _entries(prefix: str) -> sa.Table:
    return table(
        f"{prefix}_entries",
        key_column("cluster", NAME_CHARACTERS, primary_key=True),
        key_column("entry", _KEY_CHARACTERS, primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        bytes_column("value"),
    )
