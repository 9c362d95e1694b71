"""Positions in the log by time."""

from collections.abc import Callable, Sequence

MARGIN_MS = 24 * 3600 * 1000
"""Maximum duration of a statement during which the server switches to the next file, in milliseconds. The server
records the start of that statement as the time of the file."""


def first_file(files: Sequence[str], since_ms: int, begun_s: Callable[[str], int]) -> str:
    """Return the file of the log that contains the first transaction since a time.

    If a file was begun before that time, all files before it have older transactions only, so a binary search needs the
    begin of a few files. The clock of the server must not have been set back, and the server must not be a replica,
    which records times of its source.

    Args:
        files: Names of the files, the oldest first; at least one.
        since_ms: The time, in milliseconds since 1970.
        begun_s: Returns the time at which a file was begun, in seconds since 1970.
    """
    low, high = 0, len(files) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if begun_s(files[middle]) * 1000 + 999 + MARGIN_MS < since_ms:
            low = middle
        else:
            high = middle - 1
    return files[low]
