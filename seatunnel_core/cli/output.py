"""Handling of an unusable standard output: its reader has disconnected, as in ``| head``, or its disk is full."""

import errno
import os
import select
import sys

FULL = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
"""Error numbers of a full disk."""


def reader_left() -> bool:
    """Return True if standard output or standard error is a pipe without a reader.

    ``BrokenPipeError`` alone does not show this, because it may concern another pipe.
    """
    watched = select.poll()
    for stream in (sys.stdout, sys.stderr):
        try:
            watched.register(stream.fileno(), 0)
        except (OSError, ValueError):  # no file, or closed
            continue
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in watched.poll(0))


def give_up_output() -> None:
    """Discard buffered and further output, because Python would fail to write it on exit."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError):  # standard output is not a file
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # for the rest of the process
