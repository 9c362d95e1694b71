"""``python bound.py PARENT COMMAND…``: execute a command that is killed when the process ``PARENT`` ends.

Linux sends the signal regardless of how the parent ends, and the setting survives ``exec``. The variable
``BOUND_PROCESS`` contains the command's process ID, so that its own children can be bound to it. This file is executed
by its path, so it imports only the standard library.
"""

import ctypes
import os
import signal
import sys

BOUND_PROCESS = "SEATUNNEL_BOUND_PROCESS"
"""Environment variable with the process ID of a bound process."""

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Bind this process to its parent, and then execute the command."""
    parent, command = int(sys.argv[1]), sys.argv[2:]
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() == parent:  # otherwise the parent ended before the setting took effect
        os.environ[BOUND_PROCESS] = str(os.getpid())
        os.execv(command[0], command)


if __name__ == "__main__":
    main()
