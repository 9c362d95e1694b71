"""Search for log files by time."""

from collections.abc import Callable, Sequence

MARGIN_MS = 24 * 3600 * 1000
"""Maximum age, in milliseconds, of a statement that is running when the server starts a log file. The server records
the start of the statement as the start of the file.
"""


def first_file(files: Sequence[str], since_ms: int, begun_s: Callable[[str], int]) -> str:
    """Return the log file that contains the first transaction at or after a time.

    A binary search compares start times of files. It requires that the server's clock was never set back, and that the
    server is not a replica, because a replica records the times of its source.

    Args:
        files: Names of the files, the oldest first; at least one.
        since_ms: The time, in milliseconds since 1970.
        begun_s: Returns the start time of a file, in seconds since 1970.
    """
    low, high = 0, len(files) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if begun_s(files[middle]) * 1000 + 999 + MARGIN_MS < since_ms:
            low = middle
        else:
            high = middle - 1
    return files[low]
