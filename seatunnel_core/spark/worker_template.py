"""Template process from which the tasks' Python processes on the driver's machine are forked.

Importing the tasks' modules takes a second. Therefore one process imports them on an idle processor while the JVM
starts, and each parent of workers that Spark requests is forked from it (``worker_daemon``). The template ends with the
driver, which keeps the template's standard input open.
"""

import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import BinaryIO

from seatunnel_core.spark.worker_daemon import TEMPLATE

FILE = "workers"

_WAITING = 16

_ENDS_WITHIN_S = 10.0
"""Time limit for the template to end by itself before it is killed, in seconds."""

_MEMORY = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(64 << 20),
}
"""Settings of the memory allocators of the tasks' processes. Tasks allocate and free megabytes per batch, and the
kernel zeroes each page when it is allocated again, which took one sixth of the run time of a CSV job. Arrow's own pool
returns memory to the system immediately and keeps an arena per thread. The ``MALLOC`` names are glibc's; other C
libraries ignore them."""


class WorkerTemplate:
    """Driver's handle for the running template."""

    def __init__(self, folder: str, modules: Sequence[str], log: BinaryIO) -> None:
        """Start the template, which imports the modules. ``folder``, for its socket, must be private to this user."""
        self.path = os.path.join(folder, FILE)
        environment = {  # the same as Spark's for tasks
            **os.environ,
            "PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "0"),
            "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
            **{name: os.environ.get(name, value) for name, value in _MEMORY.items()},
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            TEMPLATE: self.path,
        }
        Path(self.path).unlink(missing_ok=True)
        self._process = subprocess.Popen(
            [sys.executable, "-u", "-m", __name__, *modules],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            process_group=0,  # Ctrl-C is for the driver
        )

    def stop(self) -> None:
        """Stop the template and wait until it has ended. Workers that were forked from it continue."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(_ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def serve(path: str, modules: Sequence[str]) -> None:
    """Import the modules, and fork a worker parent on each request until standard input is closed."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(path)
        listening.listen(_WAITING)  # early requests wait no longer than their own imports would take
        from pyspark.daemon import manager

        for name in ("pyspark.worker", *modules):
            with suppress(Exception):  # the task that needs it reports the error
                import_module(name)
        gc.collect()
        gc.freeze()  # excludes the modules from the garbage collection after each task
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while 0 not in select.select([listening.fileno(), 0], [], [])[0]:
            asking, _ = listening.accept()
            if os.fork():
                asking.close()
                continue
            listening.close()
            if _become(asking):
                manager()
            return


def _become(asking: socket.socket) -> bool:
    """Take over the pipes, environment and module path of the requesting process. Return False if it has ended."""
    _, files, _, _ = socket.recv_fds(asking, 1, 3)
    with asking.makefile("rb") as request:
        given = json.loads(request.read() or b"{}")
    if not given:
        return False
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(given["environment"])
    sys.path[:] = given["path"]
    sys.argv[1:] = ["pyspark.worker"]
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    asking.sendall(str(os.getpid()).encode())
    return True


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        serve(os.environ[TEMPLATE], sys.argv[1:])
    os._exit(0)  # the driver waits: skip the interpreter's shutdown, which takes 0.1 s
