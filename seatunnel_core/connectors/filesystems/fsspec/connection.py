"""Connections of fsspec clients, one per thread and set of options, and the translation of their errors."""

import errno
import ftplib
import importlib
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from attrs import define, field

from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connectors.filesystems.fsspec.protocols import PROTOCOLS

_connected = threading.local()
"""Connections of the current thread. Another thread uses such a connection only for files that were opened with it."""


@define(eq=False)
class Connection:
    """A connection to a server, for one request at a time."""

    client: Any
    turn: Any = field(factory=threading.RLock)
    """Lock that is held from a request until its response."""

    lost: bool = False

    def lose(self) -> None:
        """Mark the connection as lost, so that the next request opens a new one."""
        self.lost = True
        if isinstance(connection := getattr(self.client, "ftp", None), ftplib.FTP):
            connection.close()  # Sends nothing; prevents a warning of Python about an open socket.


def connection_of(protocol: str, options: Mapping[str, Any], top: str) -> Connection:
    """Return the connection of this thread and process: a forked process must not use its parent's connection."""
    connections: dict[str, Connection] = _connected.__dict__
    key = repr((os.getpid(), protocol, sorted(options.items())))
    if key not in connections or connections[key].lost:
        known = PROTOCOLS[protocol]
        try:
            kind = getattr(importlib.import_module(known.module), known.kind)
        except ImportError as error:
            raise UsageError(f"files over {protocol} need {known.package}: run pip install {known.package}") from error
        with os_errors(top, hint=known.login):
            connections[key] = Connection(kind(skip_instance_cache=True, **options))
    return connections[key]


@contextmanager
def os_errors(path: str, *, hint: str | None = None) -> Iterator[None]:
    """Translate errors of fsspec and its packages into ``OSError``; ``hint`` lists the login options to correct."""
    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from error
    except Exception as error:
        number = _number(error)
        known = isinstance(error, OSError) and error.errno == number
        words = os.strerror(number) if known else _first_line(error)
        if hint is not None:
            words += f". Correct {hint if number == errno.EACCES else 'host and port'}"
        raise OSError(number, words, path) from error


def _number(error: Exception) -> int:
    """Return the error number for an exception: ``EIO`` for a temporary failure, such as a closed connection."""
    if "Authentication" in type(error).__name__ or isinstance(error, (TypeError, ValueError)):
        return errno.EACCES
    said = str(error)
    if said.startswith(("530", "532")) or "private key" in said:  # FTP's error, and paramiko's.
        return errno.EACCES
    if said.startswith("55") and "denied" in said.lower():
        return errno.EACCES
    if said.startswith(("452", "552")):
        return errno.ENOSPC
    if isinstance(error, OSError) and not isinstance(error, (ConnectionError, TimeoutError)):
        return max(error.errno or 0, 0) or errno.EIO  # Error numbers of an unknown host are negative.
    return errno.EIO


def _first_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300].rstrip(". ")
