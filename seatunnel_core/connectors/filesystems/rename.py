"""Rename without replacing another file, and exchange of two files; atomic if the operating system supports it."""

import ctypes
import errno
import os
import sys
from collections.abc import Callable
from functools import cache

_AT_FDCWD = -100
_RENAME_NOREPLACE = 1  # Linux
_RENAME_EXCL = 4  # macOS
_RENAME_EXCHANGE = 2  # Linux
_RENAME_SWAP = 2  # macOS
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP}


class TargetExistsError(FileExistsError):
    """The new name is already used by a different file."""


def rename_new(old: str, new: str) -> None:
    """Rename the file ``old`` to ``new``.

    Some network file systems lack this rename. There, a link is created, and then the old name is removed. A crash in
    between leaves one file with both names; the next call detects and completes this.

    Raises:
        TargetExistsError: ``new`` is a different file.
        FileNotFoundError: ``old``, or the folder of ``new``, does not exist.
        OSError: Any other failure.
    """
    call = _system_call(_RENAME_NOREPLACE, _RENAME_EXCL)
    code = call(os.fsencode(old), os.fsencode(new)) if call else errno.ENOSYS
    if code in _UNSUPPORTED:
        code = _link_and_remove(old, new)
    if code == errno.EEXIST:
        _finish_interrupted(old, new)
    elif code:
        raise OSError(code, os.strerror(code), old)


def exchange(one: str, other: str) -> bool:
    """Exchange two files or folders atomically; return True if the file system supports this."""
    call = _system_call(_RENAME_EXCHANGE, _RENAME_SWAP)
    code = call(os.fsencode(one), os.fsencode(other)) if call else errno.ENOSYS
    if code in _UNSUPPORTED:
        return False
    if code:
        raise OSError(code, os.strerror(code), one)
    return True


def _link_and_remove(old: str, new: str) -> int:
    try:
        os.link(old, new, follow_symlinks=False)
    except OSError as error:
        return error.errno or errno.EIO
    os.unlink(old)
    return 0


def _finish_interrupted(old: str, new: str) -> None:
    if not os.path.lexists(old):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), old)
    if not os.path.samefile(old, new):
        raise TargetExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new)
    os.unlink(old)


@cache
def _system_call(flag: int, flag_of_macos: int) -> Callable[[bytes, bytes], int] | None:
    """Return the system call for a rename with flags, which returns 0 or an error number; ``None`` if there is none."""
    library = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "darwin":
        function, before, between, flag = getattr(library, "renamex_np", None), (), (), flag_of_macos
    else:
        here = (ctypes.c_int(_AT_FDCWD),)
        function, before, between = getattr(library, "renameat2", None), here, here
    if function is None:
        return None

    def call(old: bytes, new: bytes) -> int:
        failed = function(*before, ctypes.c_char_p(old), *between, ctypes.c_char_p(new), ctypes.c_uint(flag))
        return ctypes.get_errno() if failed else 0

    return call
