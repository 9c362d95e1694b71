"""``python bound.py PARENT COMMAND…``: become the command, which is killed when the process ``PARENT`` ends.

Linux sends the signal, however the parent ends. The wish outlives ``exec``, so that no further process is needed. This
file is run by its path: it imports the standard library only.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Bind this process to its parent, and become the command."""
    parent, command = int(sys.argv[1]), sys.argv[2:]
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() == parent:  # else it ended before it could be told
        os.execv(command[0], command)


if __name__ == "__main__":
    main()
