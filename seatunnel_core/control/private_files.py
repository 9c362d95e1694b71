"""Files and folders that only their owner may access, whatever the umask: logs, and what nodes keep."""

import contextlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def private_folder(folder: Path) -> None:
    """Create a folder with mode 700, and missing ones above it with mode 755; an existing one stays as it is.

    Raises:
        OSError: it cannot be created.
    """
    for above in reversed(folder.parents):
        if not above.exists():
            with contextlib.suppress(FileExistsError):
                above.mkdir(mode=0o755)
    folder.mkdir(mode=0o700, exist_ok=True)


def open_private(path: Path, mode: str = "ab", **more: Any) -> Any:
    """Open a file as ``open`` does; if it is created, then with mode 600.

    Raises:
        OSError: it cannot be opened.
    """
    return open(path, mode, opener=_opened, **more)


def accessible_to_others(paths: Iterable[Path]) -> list[Path]:
    """Return the paths that the group or others may access."""
    found = []
    for path in paths:
        with contextlib.suppress(OSError):
            if path.lstat().st_mode & _OTHERS and not path.is_symlink():
                found.append(path)
    return found


def _opened(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
