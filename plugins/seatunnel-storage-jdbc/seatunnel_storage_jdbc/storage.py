"""Checkpoints in a database table: a blob has one row per MiB, written in one transaction."""

import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from seatunnel_storage_api.blob import Blob, BlobStorage
from seatunnel_storage_jdbc.database import PART_BYTES, Database, bytes_column, key_column, table

BACKEND = "jdbc"
PATH_CHARACTERS = 700
"""Maximum number of characters of a path: the limit of an InnoDB index."""

_READS = 100
"""Maximum number of restarts of a read when the blob is removed and written again during the read."""

_DELETED_AT_ONCE = 500


def checkpoints_table(prefix: str) -> sa.Table:
    """Return the table of a storage, with the parts of all blobs; part 0 contains the metadata."""
    return table(
        f"{prefix}_checkpoints",
        key_column("path", PATH_CHARACTERS, primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        key_column("stamp", 32),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("stored_at", sa.Double, nullable=False),
        sa.Column("confirmed", sa.Integer, nullable=False),
        bytes_column("body"),
    )


class JdbcStorage(BlobStorage):
    """Storage of blobs in the table ``<prefix>_checkpoints``. Owns and closes the database.

    All parts of a blob share a unique ``stamp``, so a reader never mixes two blobs that had the same path.
    """

    def __init__(self, database: Database, prefix: str, *, namespace: str, max_retained: int, read_only: bool) -> None:
        super().__init__(backend=BACKEND, namespace=namespace, max_retained=max_retained)
        self.read_only = read_only
        self._database = database
        self._table = checkpoints_table(prefix)
        self._absent = False

    def prepare(self) -> tuple[str, ...]:
        """Create the table, test the operations of a checkpoint, and return a sentence for each missing guarantee."""
        if self.read_only:
            self._absent = not self._database.exists() or not self._database.has(self._table)
            return ()
        self._database.require(self._table)
        with self._database.transaction(writes=True) as connection:
            path = f"{self.namespace}.probe-{secrets.token_hex(8)}"
            connection.execute(self._row(path, 0, "probe", 1, b"?"))
            connection.execute(self._confirming(path))
            connection.execute(sa.delete(self._table).where(self._table.c.path == path))
        return self._database.weaknesses()

    def put_if_absent(self, key: str, body: bytes) -> bool:
        return self.put_pieces_if_absent(key, [body])

    def put_pieces_if_absent(self, key: str, pieces: Sequence[bytes]) -> bool:
        path, stamp, size = self.namespace + key, secrets.token_hex(16), sum(map(len, pieces))
        try:
            with self._database.transaction(writes=True) as connection:
                for number, part in enumerate(_parts(pieces)):
                    connection.execute(self._row(path, number, stamp, size, part))
        except IntegrityError:
            self._confirm(path)
            return False
        return True

    def read(self, key: str) -> bytes | None:
        path = self.namespace + key
        for _ in range(0 if self._absent else _READS):
            first = self._part(path, 0)
            if first is None:
                return None
            body = b"".join((first.body, *self._rest(path, first.stamp, first.size)))
            if len(body) == first.size or self._stamp(path) == first.stamp:  # else the blob was removed during the read
                self._confirm(path)
                return body
        return None

    def list_blobs(self, prefix: str) -> list[Blob]:
        if self._absent:
            return []
        columns, here = self._table.c, self.namespace + prefix
        between = (columns.path >= here) & (columns.path < here[:-1] + "0")  # "0" follows "/"
        wanted = sa.select(columns.path, columns.size, columns.stored_at).where(between, columns.number == 0)
        with self._database.transaction() as connection:
            rows = connection.execute(wanted).all()
        return [
            Blob(key=path.removeprefix(self.namespace), size_bytes=size, modified_at=stored_at)
            for path, size, stored_at in rows
        ]

    def delete(self, keys: Iterable[str]) -> None:
        paths = sorted(self.namespace + key for key in keys)  # sorted, so that deletions cannot deadlock
        with self._database.transaction(writes=True) as connection:
            for start in range(0, len(paths), _DELETED_AT_ONCE):
                some = paths[start : start + _DELETED_AT_ONCE]
                connection.execute(sa.delete(self._table).where(self._table.c.path.in_(some)))

    def close(self) -> None:
        super().close()
        self._database.close()

    def locate(self, key: str) -> str:
        return f"{self.namespace}{key} in {self._table.name} of {self._database}"

    def _row(self, path: str, number: int, stamp: str, size: int, body: bytes) -> sa.Insert:
        return sa.insert(self._table).values(
            path=path, number=number, stamp=stamp, size=size, stored_at=time.time(), confirmed=0, body=body
        )

    def _part(self, path: str, number: int) -> Any:
        """Return the stamp, size and body of a part; ``None`` if the part does not exist."""
        columns = self._table.c
        wanted = sa.select(columns.stamp, columns.size, columns.body)
        with self._database.transaction() as connection:
            return connection.execute(wanted.where(columns.path == path, columns.number == number)).one_or_none()

    def _rest(self, path: str, stamp: str, size: int) -> Iterator[bytes]:
        """Yield the parts after the first one, until one is missing or belongs to another blob."""
        for number in range(1, -(-size // PART_BYTES)):
            part = self._part(path, number)
            if part is None or part.stamp != stamp:
                return
            yield part.body

    def _stamp(self, path: str) -> str | None:
        columns = self._table.c
        with self._database.transaction() as connection:
            found: str | None = connection.execute(
                sa.select(columns.stamp).where(columns.path == path, columns.number == 0)
            ).scalar_one_or_none()
        return found

    def _confirm(self, path: str) -> None:
        """Make an observed blob survive a server crash, by committing another transaction after it."""
        if self._database.dialect.shows_before_durable and not self.read_only:
            with self._database.transaction(writes=True) as connection:
                connection.execute(self._confirming(path))

    def _confirming(self, path: str) -> sa.Update:
        columns = self._table.c
        at_path = sa.update(self._table).where(columns.path == path, columns.number == 0)
        return at_path.values(confirmed=(columns.confirmed + 1) % 1_000_000)


def _parts(pieces: Sequence[bytes]) -> Iterator[bytes]:
    """Split concatenated pieces into one or more parts of ``PART_BYTES``, without joining all of them in memory."""
    part = bytearray()
    for piece in pieces:
        view = memoryview(piece)
        while len(part) + len(view) >= PART_BYTES:
            room = PART_BYTES - len(part)
            yield bytes(part + view[:room])
            view, part = view[room:], bytearray()
        part += view
    if part or not any(map(len, pieces)):
        yield bytes(part)
