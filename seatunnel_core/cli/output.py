"""Standard output that takes nothing any more: its reader left, as in ``| head``, or the disk behind it is full."""

import errno
import os
import select
import sys

FULL = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
"""Errors of a disk that has no room."""


def reader_left() -> bool:
    """Return True if standard output or standard error is a pipe without a reader; other pipes may break too."""
    watched = select.poll()
    for stream in (sys.stdout, sys.stderr):
        try:
            watched.register(stream.fileno(), 0)
        except (OSError, ValueError):  # it is no file, or closed
            continue
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in watched.poll(0))


def give_up_output() -> None:
    """Discard buffered and further output, because Python would fail to write it when the process ends."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError):  # standard output is no file
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # for the rest of the process
