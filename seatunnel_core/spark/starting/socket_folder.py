"""Folder for the Unix domain sockets between the JVM and its Python workers on the same machine.

Commands and results are a few hundred bytes. Over TCP, they wait for an acknowledgement that is delayed by 40 ms: a job
took 71 ms with TCP and takes 21 ms with these sockets. Spark 4.0 ignores the options.
"""

import atexit
import logging
import os
import shutil
import stat
import tempfile
from functools import cache

from seatunnel_core.errors import PlatformError

logger = logging.getLogger("seatunnel.spark")

_LONGEST_BASE = 40
"""Maximum path length of a temporary folder for sockets, in bytes: the path of a Unix domain socket has at most 104
bytes (macOS), and Spark's names take 42 of them."""


@cache
def socket_folder() -> str:
    """Return the folder of this process, accessible only to this user, for the lifetime of the process."""
    base = tempfile.gettempdir()
    folder = tempfile.mkdtemp(prefix="seatunnel-", dir=base if len(base) < _LONGEST_BASE else "/tmp")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def restore_socket_folder(folder: str) -> None:
    """Create the folder again if it was removed, for example by ``systemd-tmpfiles``, and log a warning.

    Without it, the JVM cannot create a socket for the results of a Spark job, and leaks an open file at each attempt.
    """
    if os.path.lexists(folder):
        _require_own_folder(folder)
        return
    logger.warning(
        "the temporary folder %s was removed while the job was running, and was created again. Exclude the folder "
        "from the cleanup of temporary files, or set TMPDIR to a folder that is not cleaned up",
        folder,
    )
    os.makedirs(folder, mode=0o700, exist_ok=True)
    _require_own_folder(folder)


def _require_own_folder(folder: str) -> None:
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise PlatformError(
            f"the temporary folder {folder} was removed while the job was running, and another user created "
            "something in its place: set TMPDIR to a folder to which only you can write, and start the job again"
        )
