"""A file of DuckDB, which this process opens for one transaction at a time, and closes, so that others can read it."""

import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any

from attrs import field, frozen

from seatunnel_core.errors import SinkError

_held: dict[str, threading.Lock] = {}
_holding = threading.Lock()
"""Held while a lock of a file is looked up."""

_ORDER = "preserve_insertion_order"

_PAUSE_S = 0.05
"""The first pause before a file that another process has open is tried again; each is longer, up to a second."""


@frozen(kw_only=True)
class Database:
    """One file, with the settings with which it is opened."""

    path: str
    properties: Mapping[str, str] = field(repr=False)
    wait_s: int
    """How long to wait for another process that has the file open."""

    @property
    def exists(self) -> bool:
        """Whether the file is there."""
        return os.path.exists(self.path)

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """Lend a connection in a transaction, which is rolled back unless the caller commits it.

        Raises:
            SinkError: The file cannot be opened; ``retryable`` when another process has it.
        """
        with self._lock, closing(self._opened()) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            if _ORDER not in self.properties:
                # A table has no order; to keep one, DuckDB took twice as long and made a file of twice the size.
                connection.execute(f"SET {_ORDER} = false")
            connection.begin()
            yield connection

    @property
    def _lock(self) -> threading.Lock:
        with _holding:
            return _held.setdefault(os.path.realpath(self.path), threading.Lock())

    def _opened(self) -> Any:
        import duckdb

        until, pause_s = time.monotonic() + self.wait_s, _PAUSE_S
        while True:
            try:
                return duckdb.connect(self.path, config=dict(self.properties))
            except duckdb.Error as error:
                if not is_held(error):
                    raise
                if time.monotonic() >= until:
                    found = SinkError(
                        f"another process has {self.path} open, and DuckDB takes one writer: {_line(error)}"
                    )
                    found.retryable = True
                    raise found from error
            time.sleep(pause_s)
            pause_s = min(1.0, pause_s * 2)


def is_held(error: BaseException) -> bool:
    """Return whether DuckDB refuses a file because somebody else has it open."""
    import duckdb

    locked = isinstance(error, duckdb.IOException) and "lock" in str(error)
    return locked or (isinstance(error, duckdb.ConnectionException) and "different configuration" in str(error))


def ask(connection: Any, statement: str) -> Sequence[Sequence[Any]]:
    """Run a statement, and return its rows."""
    found: Sequence[Sequence[Any]] = connection.execute(statement).fetchall()
    return found


_REFUSED = ("Permission denied", "Operation not permitted", "Read-only file system", "Not a directory")
"""What the operating system says of a place that stays as it is until a user changes something."""


def failed(kind: type[SinkError], what: str, error: Exception) -> SinkError:
    """Return ``kind`` for an error of DuckDB or of a file; a full disk and a lock may pass."""
    import duckdb

    found = kind(f"{what}: {_line(error)}")
    may_pass = isinstance(error, duckdb.IOException | OSError | duckdb.OutOfMemoryException)
    found.retryable = may_pass and not any(words in str(error) for words in _REFUSED)
    return found


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())
