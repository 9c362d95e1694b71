"""Owner-only files and folders, independent of the umask, for logs and files of nodes."""

import contextlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from seatunnel_storage_api.links import require_own_file, require_own_links

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def private_folder(folder: Path) -> None:
    """Create a folder with mode 700, and missing parents with mode 755. An existing folder is not changed.

    Raises:
        OSError: The folder cannot be created, or its path contains a symbolic link of another user.
    """
    require_own_links(str(folder))
    for above in reversed(folder.parents):
        if not above.exists():
            with contextlib.suppress(FileExistsError):
                above.mkdir(mode=0o755)
    folder.mkdir(mode=0o700, exist_ok=True)


def open_private(path: Path, mode: str = "ab", **more: Any) -> Any:
    """Open a file like ``open``; a new file is created with mode 600.

    Raises:
        OSError: The file cannot be opened, belongs to another user, or its path contains another user's symbolic link.
    """
    return open(path, mode, opener=_opened, **more)


def read_private(path: Path) -> str:
    """Return the text of a file of this user or of root.

    Raises:
        OSError: The file cannot be read, belongs to another user, or its path contains another user's symbolic link.
        UnicodeDecodeError: The file is not UTF-8.
    """
    with open_private(path, "r", encoding="utf-8") as file:
        return str(file.read())


def accessible_to_others(paths: Iterable[Path]) -> list[Path]:
    """Return the paths that the group or other users may access."""
    found = []
    for path in paths:
        with contextlib.suppress(OSError):
            if path.lstat().st_mode & _OTHERS and not path.is_symlink():
                found.append(path)
    return found


def is_changeable_by_others(folder: Path) -> bool:
    """Return True if users other than this one and root can replace the content of a folder."""
    found = folder.stat()
    writes = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not found.st_mode & stat.S_ISVTX
    return bool(writes) or found.st_uid not in (0, os.geteuid())


def _opened(path: str, flags: int) -> int:
    require_own_links(path)
    is_link = os.path.islink(path)
    # Non-blocking, because opening a pipe of another user without a reader would block this process.
    descriptor = os.open(path, flags | os.O_NONBLOCK | (0 if is_link else os.O_NOFOLLOW), 0o600)
    try:
        require_own_file(path, os.fstat(descriptor))
        os.set_blocking(descriptor, True)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
