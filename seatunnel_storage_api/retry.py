"""Bounded retries with jitter, and classification of operating-system errors as retryable or permanent."""

import errno
import random
import time
from collections.abc import Callable
from typing import TypeVar

from attrs import field, frozen

from seatunnel_storage_api.errors import StorageAccessError, StorageUnavailableError

Answer = TypeVar("Answer")


@frozen(kw_only=True)
class Backoff:
    """Number of attempts, and the waits between them, which double each time. Up to half of each wait is random."""

    attempts: int = 4
    first_wait_ms: int = 50
    longest_wait_ms: int = 1_000
    sleep: Callable[[float], object] = field(default=time.sleep, repr=False)
    """Sleep function; takes seconds."""

    def call(self, action: Callable[[], Answer]) -> Answer:
        """Return the result of ``action``; retry after ``StorageUnavailableError``, and finally raise that error."""
        wait_ms = self.first_wait_ms
        for _ in range(self.attempts - 1):
            try:
                return action()
            except StorageUnavailableError:
                self.sleep(random.uniform(wait_ms / 2, wait_ms) / 1_000)
                wait_ms = min(2 * wait_ms, self.longest_wait_ms)
        return action()


_REFUSALS = frozenset(
    (errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL)
)
"""Error numbers of permanent operating-system errors."""


def what_helps(cause: OSError) -> str:
    """Return the remedy for a retryable error. A read-only file system may become writable again after a repair."""
    if cause.errno == errno.EROFS:
        return "Make its file system writable, or choose another namespace"
    return "Check that the storage is up and has free space, then try again"


def as_storage_errors(action: Callable[[], Answer]) -> Answer:
    """Call ``action`` and return its result; convert an ``OSError`` to a storage error.

    Raises:
        StorageAccessError: The error is permanent until a user changes something, such as a missing permission.
        StorageUnavailableError: Any other ``OSError``, which is retryable.
    """
    try:
        return action()
    except OSError as cause:
        if cause.errno in _REFUSALS:
            raise StorageAccessError(
                f"{cause}. Make the location readable and writable for this user, or choose another namespace"
            ) from cause
        raise StorageUnavailableError(f"{cause}. {what_helps(cause)}") from cause
