"""A DuckDB file that is opened only for transactions, so that other processes can read it.

Opening and closing the file takes much longer than a short transaction. The file therefore stays open between
transactions while other threads of this process wait for it, such as the pipelines of a job with many tables.
"""

import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

from attrs import define, field, frozen

from seatunnel_core.connector_api.errors import SinkError

_LONGEST_OPEN_S = 1.0
"""Maximum time to keep the file open for waiting threads, in seconds. During this time, other processes cannot read
it."""


@define
class _Shared:
    """State of a file, shared by the threads of this process."""

    lock: threading.Lock = field(factory=threading.Lock)
    """Lock that is held during a transaction."""

    waiting: set[int] = field(factory=set)
    """IDs of the threads that wait for the lock."""

    opened: Any = None
    """Connection that keeps the file open between transactions, if any; guarded by ``lock``."""

    settings: Mapping[str, str] = field(factory=dict)
    """Settings with which the file was opened."""

    identity: tuple[int, int] | None = None
    """Device and inode of the open file."""

    since: float = 0.0
    """Time at which the file was opened, in seconds of the monotonic clock."""

    def close(self) -> None:
        opened, self.opened = self.opened, None
        if opened is not None:
            opened.close()


_files: dict[str, _Shared] = {}
_entering = threading.Lock()
"""Lock for access to ``_files``."""

_ORDER = "preserve_insertion_order"

_PAUSE_S = 0.05
"""Initial delay before reopening a file that another process holds, in seconds. The delay grows up to one second."""


@frozen(kw_only=True)
class Database:
    """A DuckDB file with the settings for opening it."""

    path: str
    properties: Mapping[str, str] = field(repr=False)
    wait_s: int
    """Maximum time to wait for another process that holds the file, in seconds."""

    @property
    def exists(self) -> bool:
        """True if the file exists."""
        return os.path.exists(self.path)

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """Yield a connection in a transaction, which is rolled back unless the caller commits it.

        Raises:
            SinkError: The file cannot be opened; retryable if another process holds it.
        """
        with self._turn() as shared:
            try:
                with closing(self._cursor(shared)) as connection:
                    connection.execute("SET TimeZone = 'UTC'")
                    if _ORDER not in self.properties:
                        # A table has no order; preserving one would double the load time and the file size.
                        connection.execute(f"SET {_ORDER} = false")
                    connection.begin()
                    yield connection
                if not self._stays_open(shared):
                    shared.close()
            except BaseException:
                shared.close()
                raise

    @contextmanager
    def _turn(self) -> Iterator[_Shared]:
        """Wait until no other thread uses the file, and yield the shared state."""
        with _entering:
            shared = _files.setdefault(os.path.realpath(self.path), _Shared())
        shared.waiting.add(threading.get_ident())
        with shared.lock:
            shared.waiting.discard(threading.get_ident())
            yield shared

    def _cursor(self, shared: _Shared) -> Any:
        """Return a connection to the file. Reopen the file if it or the settings changed."""
        if shared.opened is not None and (shared.settings, shared.identity) != (self.properties, self._identity()):
            shared.close()
        if shared.opened is None:
            shared.opened, shared.settings = self._opened(), self.properties
            shared.identity, shared.since = self._identity(), time.monotonic()
        return shared.opened.cursor()

    def _stays_open(self, shared: _Shared) -> bool:
        """Return True if the file stays open for the next thread, after making its write-ahead log's name durable."""
        if not shared.waiting - {threading.get_ident()} or time.monotonic() - shared.since >= _LONGEST_OPEN_S:
            return False
        folder = os.open(os.path.dirname(self.path), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return True

    def _identity(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino

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
                        f"another process has {self.path} open, but DuckDB allows only one writer: {_line(error)}"
                    )
                    found.retryable = True
                    raise found from error
            time.sleep(pause_s)
            pause_s = min(1.0, pause_s * 2)


def is_held(error: BaseException) -> bool:
    """Return True if DuckDB failed to open a file because another process holds it."""
    import duckdb

    locked = isinstance(error, duckdb.IOException) and "lock" in str(error)
    return locked or (isinstance(error, duckdb.ConnectionException) and "different configuration" in str(error))


_REFUSED = ("Permission denied", "Operation not permitted", "Read-only file system", "Not a directory")
"""Messages of permanent operating-system errors."""


def failed(kind: type[SinkError], what: str, error: Exception) -> SinkError:
    """Convert a DuckDB or file-system error to ``kind``. A full disk or a lock is retryable."""
    import duckdb

    found = kind(f"{what}: {_line(error)}")
    may_pass = isinstance(error, duckdb.IOException | OSError | duckdb.OutOfMemoryException)
    found.retryable = may_pass and not any(words in str(error) for words in _REFUSED)
    return found


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())
