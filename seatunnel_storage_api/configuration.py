"""Keys that all checkpoint storages support: ``namespace``, ``max-retained`` and ``read-only``."""

import difflib
import logging
import re
from collections.abc import Collection, Mapping

from seatunnel_storage_api.errors import NamespaceError, StorageConfigurationError

NAMESPACE = "namespace"
MAX_RETAINED = "max-retained"
READ_ONLY = "read-only"
"""Key of the option that opens a storage read-only: with ``true``, it creates no folder, performs no test write, and
rejects writes."""

DEFAULT_NAMESPACE = "/seatunnel/checkpoint/"
DEFAULT_MAX_RETAINED = 3

_UNFIT = re.compile(r"[\x00-\x1f\x7f]")

logger = logging.getLogger("seatunnel.storage")


def namespace(configuration: Mapping[str, str]) -> str:
    """Return the folder for all jobs of a storage: ``/seatunnel/checkpoint/`` if the key is absent, null or empty.

    Raises:
        NamespaceError: The folder is not absolute, does not end with "/", or contains "..", ".", "//" or a control
            character.
    """
    written = configuration.get(NAMESPACE) or DEFAULT_NAMESPACE
    if not written.endswith("/"):
        raise NamespaceError(f'the namespace {written!r} must end with "/": write {written + "/"!r}')
    if not written.startswith("/"):
        raise NamespaceError(f'the namespace {written!r} must be absolute: start it with "/", for example "/{written}"')
    parts = written.split("/")[1:-1]
    if any(part in ("", ".", "..") for part in parts) or _UNFIT.search(written):
        raise NamespaceError(
            f'the namespace {written!r} must be a plain path: no "..", ".", "//" or control characters, for example '
            f"{DEFAULT_NAMESPACE!r}"
        )
    return written


def max_retained(configuration: Mapping[str, str]) -> int:
    """Return the number of checkpoints to keep per pipeline, at least 1: 3 if the key is absent, null or empty.

    Raises:
        StorageConfigurationError: The value is not an integer of at least 1.
    """
    written = configuration.get(MAX_RETAINED) or DEFAULT_MAX_RETAINED
    if not re.fullmatch(r"0*[1-9][0-9]{0,8}", str(written)):
        raise StorageConfigurationError(
            f"{MAX_RETAINED} is {written!r}, expected a whole number of at least 1: write {MAX_RETAINED}: "
            f"{DEFAULT_MAX_RETAINED} to keep the three newest checkpoints of each pipeline"
        )
    return int(written)


def flag(configuration: Mapping[str, str], key: str, *, default: bool) -> bool:
    """Return the value of a boolean key, ignoring case; ``default`` if the key is absent, null or empty.

    Raises:
        StorageConfigurationError: The value is neither ``true`` nor ``false``.
    """
    written = str(configuration.get(key) or default).strip().lower()
    if written not in ("true", "false"):
        raise StorageConfigurationError(f"{key} is {written!r}, expected true or false")
    return written == "true"


def read_only(configuration: Mapping[str, str]) -> bool:
    """Return True if the storage is opened for reading only; False if the key is absent, null or empty.

    Raises:
        StorageConfigurationError: The value is neither ``true`` nor ``false``.
    """
    return flag(configuration, READ_ONLY, default=False)


def unknown_keys(configuration: Mapping[str, str], known: Collection[str]) -> tuple[str, ...]:
    """Return a warning for each key that is neither shared nor in ``known``, without its possibly secret value."""
    every = sorted({NAMESPACE, MAX_RETAINED, READ_ONLY, *known})
    return tuple(_unknown(key, every) for key in configuration if key not in every)


def _unknown(key: str, known: list[str]) -> str:
    close = difflib.get_close_matches(key, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"valid keys: {', '.join(known)}"
    return f"the key {key!r} in plugin-config is unknown and has no effect; {hint}"


def warn(sentences: Collection[str]) -> None:
    """Log each sentence as a warning under ``seatunnel.storage``."""
    for sentence in sentences:
        logger.warning("%s", sentence)
