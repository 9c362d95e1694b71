"""Checks of symbolic links in paths: links created by another user are not followed.

A user who may write to a folder with state, logs or checkpoints, such as ``/tmp``, can create a link there. A process
that follows it writes, reads or removes files elsewhere, with its own permissions.
"""

import errno
import os
import stat

_MOST_LINKS = 40
"""Maximum number of links in one path, which is also the limit of Linux."""

_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class ForeignFileError(PermissionError):
    """A file, or a symbolic link in its path, belongs to another user."""


def require_own_links(path: str) -> None:
    """Check the symbolic links in a path, in all its folders and in the targets of these links.

    A link is accepted if it belongs to this user or to root, or is in a folder to which only they can write. If a path
    does not exist, its existing part is checked.

    Raises:
        ForeignFileError: Another user created one of the links.
        OSError: There are too many links, or one cannot be read.
    """
    names = _names(path if os.path.isabs(path) else os.path.join(os.getcwd(), path))
    here, links = "/", 0
    while names:
        name = names.pop()
        if name == "..":
            here = os.path.dirname(here)
            continue
        at = os.path.join(here, name)
        try:
            found = os.lstat(at)
        except OSError:  # the path ends here, or its user gets this error
            return
        if not stat.S_ISLNK(found.st_mode):
            here = at
            continue
        _require_own(at, found, here)
        links += 1
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        target = os.readlink(at)
        names += _names(target)
        here = "/" if os.path.isabs(target) else here


def require_own_file(path: str, found: os.stat_result) -> None:
    """Check that an existing file was not created by another user.

    Args:
        path: Path of the file.
        found: Status of its open descriptor.

    Raises:
        ForeignFileError: The file belongs to another user, and others can write to its folder.
    """
    _require_own(path, found, os.path.dirname(os.path.abspath(path)))


def _require_own(path: str, found: os.stat_result, folder: str) -> None:
    trusted = (0, os.geteuid())
    if found.st_uid in trusted:
        return
    holder = os.stat(folder)
    if holder.st_uid in trusted and not holder.st_mode & _WRITABLE_BY_OTHERS:
        return  # only this user or root can have created it
    kind = "symbolic link" if stat.S_ISLNK(found.st_mode) else "file"
    raise ForeignFileError(
        errno.EPERM,
        f"this {kind} belongs to another user (uid {found.st_uid}), and could redirect reads and writes of this "
        "process: remove it, or use a folder to which only this user can write",
        path,
    )


def _names(path: str) -> list[str]:
    """Return the parts of a path in reverse order."""
    return [name for name in reversed(path.split("/")) if name not in ("", ".")]
