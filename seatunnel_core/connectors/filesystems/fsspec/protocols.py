"""Servers that rename files atomically, and their fsspec clients."""

import errno
import os
from collections.abc import Callable, Mapping
from typing import Any

from attrs import field, frozen


@frozen(kw_only=True)
class Protocol:
    """fsspec client for one kind of server."""

    module: str
    kind: str
    """Class name in the module. fsspec's registry is not used, because other packages may replace the class there.
    """

    rename: Callable[[Any, str, str], None] = field(repr=False)
    """Function that renames a path with an instance of the class. fsspec's default ``mv`` copies and deletes."""

    package: str = "fsspec"
    """Module of the required package."""

    login: str = "user and password"
    """Login options, for messages."""

    real: Callable[[Any, str], str] | None = None
    """Function that resolves links, if the server has links."""

    shared: bool = True
    """True if a connection with open files can serve other requests, including those of other threads."""


def _rename_in_memory(client: Any, old: str, new: str) -> None:
    if not client.isdir(new.rpartition("/")[0]) or not client.exists(old):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), new)
    for path in [path for path in client.store if path == old or path.startswith(f"{old}/")]:
        client.store[new + path[len(old) :]] = client.store.pop(path)
    client.pseudo_dirs[:] = [
        new + path[len(old) :] if path == old or path.startswith(f"{old}/") else path for path in client.pseudo_dirs
    ]


PROTOCOLS: Mapping[str, Protocol] = {
    "sftp": Protocol(
        module="fsspec.implementations.sftp",
        kind="SFTPFileSystem",
        rename=lambda client, old, new: client.ftp.posix_rename(old, new),
        real=lambda client, path: str(client.ftp.normalize(path)),
        package="paramiko",
        login="user, password and private_key_path",
    ),
    "ftp": Protocol(
        module="fsspec.implementations.ftp",
        kind="FTPFileSystem",
        rename=lambda client, old, new: client.ftp.rename(old, new),
        shared=False,
    ),
    "memory": Protocol(module="fsspec.implementations.memory", kind="MemoryFileSystem", rename=_rename_in_memory),
}
