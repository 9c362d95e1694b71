"""Lets the kernel begin to write a file to the disk while more of it is still being made, where it can be asked to."""

import ctypes
from collections.abc import Callable
from functools import cache

_BEGIN = 2  # SYNC_FILE_RANGE_WRITE
"""Begin to write what is not being written yet, and do not wait until it is written."""


def begin_write_back(descriptor: int, start: int, end: int) -> None:
    """Ask for the bytes from ``start`` to ``end``.

    Nothing is promised: what has to survive a crash needs ``fsync``, which then has less left to wait for. Where the
    system has no such call (it is Linux's), nothing happens.
    """
    call = _system_call()
    if call is not None:
        call(descriptor, start, end - start, _BEGIN)  # an error is no news: fsync will meet it, too


@cache
def _system_call() -> Callable[[int, int, int, int], int] | None:
    function = getattr(ctypes.CDLL(None), "sync_file_range", None)
    if function is not None:
        function.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)
    return function
