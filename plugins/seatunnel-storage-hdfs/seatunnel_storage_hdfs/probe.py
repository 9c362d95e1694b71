"""Startup test that runs the operations of a checkpoint with one fixed key, so that problems are found at once."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from seatunnel_storage_api.blob import BlobStorage

KEY = ".probe"
"""Key of the probe, below the namespace. No listing returns it, and an access policy can refer to it."""

_ROUNDS = 50
"""Maximum number of attempts. Storages that start at the same time may remove each other's probe between two puts."""


class Closable(Protocol):
    """Object that holds connections."""

    def close(self) -> None: ...


@contextmanager
def closed_on_failure(held: Closable) -> Iterator[None]:
    """Close a storage's connections if it cannot be opened, because no caller receives the storage."""
    try:
        yield
    except BaseException:
        held.close()
        raise


def never_overwrites(storage: BlobStorage) -> bool:
    """Return True if a second put left the first object unchanged, as the storage interface requires."""
    for _ in range(_ROUNDS):
        storage.put_if_absent(KEY, b"")
        if not storage.put_if_absent(KEY, b""):
            return True
    return False


def probe(storage: BlobStorage, require_put_if_absent: Callable[[], None]) -> None:
    """Test a storage with one put, read, listing and deletion; a read-only storage only with a listing.

    ``require_put_if_absent`` puts the object, and raises an error if a put overwrites.
    """
    if not storage.read_only:
        storage.attempt("put", KEY, require_put_if_absent)
        storage.attempt("read", KEY, lambda: storage.read(KEY))
    storage.attempt("list", "", lambda: next(iter(storage.list_blobs(f"{KEY}-none/")), None))
    if not storage.read_only:
        storage.attempt("delete", KEY, lambda: storage.delete([KEY]))
