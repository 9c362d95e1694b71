"""Classification of file system errors as retryable or permanent."""

import contextlib
from collections.abc import Collection, Iterator

from seatunnel_storage_api.errors import CheckpointStorageError, StorageAccessError, StorageUnavailableError
from seatunnel_storage_api.secret import masked

_FINAL_STATUSES = frozenset({400, 401, 403, 404, 405, 409})
_FINAL_CLASSES = (
    *("AuthenticationException", "BadHostKeyException", "ClientAuthenticationError", "DefaultCredentialsError"),
    *("RefreshError", "PasswordRequiredException", "TypeError", "ValueError"),
)
"""Names of exception classes for permanent errors; the packages that define them may not be installed."""


@contextlib.contextmanager
def translated(secrets: Collection[str]) -> Iterator[None]:
    """Convert errors of a file system to storage errors; operating-system errors keep their number.

    ``secrets`` are removed from the messages.

    Raises:
        StorageUnavailableError: The failure is retryable.
        StorageAccessError: The failure is permanent.
    """
    try:
        yield
    except CheckpointStorageError:
        raise
    except Exception as cause:  # a file system is third-party code: it may raise anything
        if isinstance(cause, OSError) and cause.errno is not None and not isinstance(cause, FileNotFoundError):
            raise
        text = f"{type(cause).__name__}: {_first_line(str(cause))}"
        clean = masked(text, secrets)
        raise _meaning(cause, clean) from (cause if clean == text else None)


def _first_line(text: str) -> str:
    return (text.strip().splitlines() or ["no details available"])[0][:500].rstrip(".")


def _meaning(cause: Exception, said: str) -> StorageUnavailableError | StorageAccessError:
    if isinstance(cause, FileNotFoundError) or _status(cause) == 404:
        return StorageAccessError(
            f"{said}. Create the bucket, container or folder with which the namespace starts, or correct the namespace"
        )
    refused = _status(cause) in _FINAL_STATUSES or "Forbidden" in said or "known_hosts" in said
    if refused or any(each.__name__ in _FINAL_CLASSES for each in type(cause).__mro__):
        return StorageAccessError(
            f"{said}. Check the options fs.<storage.type>.* of plugin-config, and that this user may read, write, list "
            "and delete there"
        )
    return StorageUnavailableError(f"{said}. Check that the server is up and can be reached from here, then try again")


def _status(cause: Exception) -> int | None:
    """Return the status of an HTTP response, from whichever attribute the client stores it in."""
    found = (getattr(cause, name, None) for name in ("status_code", "status", "code"))
    return next((int(each) for each in found if isinstance(each, int | str) and str(each).isdigit()), None)
