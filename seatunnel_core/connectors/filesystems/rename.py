"""A rename that never replaces another file, atomic where the operating system allows it."""

import ctypes
import errno
import os
import sys
from collections.abc import Callable
from functools import cache

_AT_FDCWD = -100
_RENAME_NOREPLACE = 1  # Linux
_RENAME_EXCL = 4  # macOS
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP}


class TargetExistsError(FileExistsError):
    """The new name belongs to another file than the one that was to be renamed."""


def rename_new(old: str, new: str) -> None:
    """Give the file ``old`` the name ``new``.

    File systems without such a rename (some network ones) get a link and then the removal of the old name. A crash
    between the two leaves one file with both names; the next call sees that and finishes.

    Raises:
        TargetExistsError: ``new`` is another file.
        FileNotFoundError: ``old``, or the folder of ``new``, is not there.
        OSError: anything else.
    """
    call = _system_call()
    code = call(os.fsencode(old), os.fsencode(new)) if call else errno.ENOSYS
    if code in _UNSUPPORTED:
        code = _link_and_remove(old, new)
    if code == errno.EEXIST:
        _finish_interrupted(old, new)
    elif code:
        raise OSError(code, os.strerror(code), old)


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
def _system_call() -> Callable[[bytes, bytes], int] | None:
    """Return the operating system's own rename without replacement, which returns 0 or an error number."""
    library = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "darwin":
        function, before, between, flag = getattr(library, "renamex_np", None), (), (), _RENAME_EXCL
    else:
        function, before, between, flag = (
            getattr(library, "renameat2", None),
            (ctypes.c_int(_AT_FDCWD),),
            (ctypes.c_int(_AT_FDCWD),),
            _RENAME_NOREPLACE,
        )
    if function is None:
        return None

    def call(old: bytes, new: bytes) -> int:
        failed = function(*before, ctypes.c_char_p(old), *between, ctypes.c_char_p(new), ctypes.c_uint(flag))
        return ctypes.get_errno() if failed else 0

    return call
