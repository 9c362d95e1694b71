"""Clients that connectors share with checkpoint storages: one for each process and configuration."""

import errno
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connector_api.option import Option, Options
from seatunnel_core.installing import install_command
from seatunnel_storage_api.errors import CheckpointStorageError, StorageConfigurationError, StorageUnavailableError

Client = TypeVar("Client")

_making = threading.Lock()
_turns: dict[object, threading.Lock] = {}
"""Locks by client. A lock is held while its client is created, which may wait for the server."""

_clients: dict[object, Any] = {}


def client_of(configuration: Mapping[str, str], make: Callable[[Mapping[str, str]], Client]) -> Client:
    """Return this process's shared client for a configuration."""
    key = (os.getpid(), make, *sorted(configuration.items()))
    if key not in _clients:
        with _making:
            turn = _turns.setdefault(key, threading.Lock())
        with turn:
            if key not in _clients:
                _clients[key] = make(configuration)
    client: Client = _clients[key]
    return client


def settings(options: Options, keys: Mapping[Option[Any], str]) -> dict[str, str]:
    """Return the values of the options that are set, under the client's keys."""
    return {key: str(options[option]) for option, key in keys.items() if options[option]}


@contextmanager
def usage_errors(connector: str, extra: str, names: Mapping[str, str]) -> Iterator[None]:
    """Convert errors about missing packages of an ``extra`` or invalid settings to ``UsageError``."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise UsageError(f"{connector} needs the package {error.name}: {install_command(extra)}") from error
    except StorageConfigurationError as error:
        raise UsageError(with_option_names(error, names)) from error


@contextmanager
def os_errors(
    path: str, names: Mapping[str, str], number_of: Callable[[CheckpointStorageError], int | None]
) -> Iterator[None]:
    """Convert errors of a client to ``OSError`` with the connector's path and option names.

    Args:
        path: Path or URL that is accessed.
        names: Replacements for ``with_option_names``.
        number_of: Returns the ``errno`` for an error. For ``None``, the ``errno`` is ``EIO`` if the failure may be
            temporary, else ``EACCES``.
    """
    try:
        yield
    except CheckpointStorageError as error:
        default = errno.EIO if isinstance(error, StorageUnavailableError) else errno.EACCES
        number = number_of(error) or default
        known = number in (errno.ENOENT, errno.EEXIST)
        raise OSError(number, os.strerror(number) if known else with_option_names(error, names), path) from error


def with_option_names(error: CheckpointStorageError, names: Mapping[str, str]) -> str:
    """Return the message of an error, with each key of ``names`` replaced by its value."""
    return re.sub("|".join(map(re.escape, names)), lambda found: names[found[0]], str(error))
