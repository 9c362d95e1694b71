"""Handling of write errors on standard output: a closed pipe (for example with ``| head``) or a full disk."""

import errno
import os
import select
import sys

FULL = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
"""``errno`` values that indicate a full disk."""


def reader_left() -> bool:
    """Return True if standard output or standard error is a pipe that has no reader.

    A ``BrokenPipeError`` is not sufficient, because it may come from a different pipe.
    """
    watched = select.poll()
    for stream in (sys.stdout, sys.stderr):
        try:
            watched.register(stream.fileno(), 0)
        except (OSError, ValueError):  # no file, or closed
            continue
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in watched.poll(0))


def give_up_output() -> None:
    """Discard buffered and further output. Otherwise Python would fail to write it on exit."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError):  # standard output is not a file
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # for the rest of the process
