"""Does once, on one fixed key, what every checkpoint will need: what is wrong shows now and not an hour later."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from seatunnel_storage_api.blob import BlobStorage

KEY = ".probe"
"""Below the namespace; no listing takes it for ours, and a policy can name it."""

_ROUNDS = 50
"""Each storage that begins at the same time may once remove the probe between our two puts."""


class Closable(Protocol):
    """Holder of connections."""

    def close(self) -> None: ...


@contextmanager
def closed_on_failure(held: Closable) -> Iterator[None]:
    """Close what a storage holds if it cannot be opened, since no caller gets it."""
    try:
        yield
    except BaseException:
        held.close()
        raise


def never_overwrites(storage: BlobStorage) -> bool:
    """Return whether a second put left the first object as it was, as promise 7 requires."""
    for _ in range(_ROUNDS):
        storage.put_if_absent(KEY, b"")
        if not storage.put_if_absent(KEY, b""):
            return True
    return False


def probe(storage: BlobStorage, require_put_if_absent: Callable[[], None]) -> None:
    """Test a storage by one put, read, listing and deletion; list only if it is read-only.

    Args:
        storage: The storage to test.
        require_put_if_absent: Puts the object, and raises if a put overwrites.

    Raises:
        StorageAccessError: One of these is refused, or a put overwrites.
        StorageUnavailableError: The server does not answer.
    """
    if not storage.read_only:
        storage.attempt("put", KEY, require_put_if_absent)
        storage.attempt("read", KEY, lambda: storage.read(KEY))
    storage.attempt("list", "", lambda: next(iter(storage.list_blobs(f"{KEY}-none/")), None))
    if not storage.read_only:
        storage.attempt("delete", KEY, lambda: storage.delete([KEY]))
