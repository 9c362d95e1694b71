"""A bounded retry with jitter, for what may pass by itself; and which errors may."""

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
    """How often, and how long between. The wait doubles each time and is drawn between half of it and all of it."""

    attempts: int = 4
    first_wait_ms: int = 50
    longest_wait_ms: int = 1_000
    sleep: Callable[[float], object] = field(default=time.sleep, repr=False)
    """Takes seconds."""

    def call(self, action: Callable[[], Answer]) -> Answer:
        """The answer of ``action``, tried again while it raises ``StorageUnavailableError``; the last error stands."""
        wait_ms = self.first_wait_ms
        for _ in range(self.attempts - 1):
            try:
                return action()
            except StorageUnavailableError:
                self.sleep(random.uniform(wait_ms / 2, wait_ms) / 1_000)
                wait_ms = min(2 * wait_ms, self.longest_wait_ms)
        return action()


_REFUSALS = frozenset(
    (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL)
)
"""Operating system errors that stay until a person changes something."""


def sort_out(action: Callable[[], Answer]) -> Answer:
    """The answer of ``action``; sorts the operating system's errors into what may pass and what will not."""
    try:
        return action()
    except OSError as cause:
        if cause.errno in _REFUSALS:
            raise StorageAccessError(
                f"{cause}. Make the place readable and writable for this user, or choose another namespace"
            ) from cause
        raise StorageUnavailableError(f"{cause}. Check that the storage is up and has room, then try again") from cause
