"""The process that Spark starts as the parent of the tasks' Python processes, where they run beside the driver.

It is the module of Spark's option ``spark.python.daemon.module``. It hands its pipes to the template of workers
(``worker_template``), which has everything imported already and forks a parent in its place, and lives as long as that
fork. Without a template it is the parent itself.
"""

import json
import os
import signal
import socket
import sys

TEMPLATE = "SEATUNNEL_WORKER_TEMPLATE"
"""The environment variable with the path of the socket on which the template listens."""


def handed_over(path: str) -> bool:
    """Have a template fork a parent in place of this process; return whether it did, once that parent has ended."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # until it is known who has to hear of it
    try:
        return _handed_over(path)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


def _handed_over(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as template:
        try:
            template.connect(path)
            socket.send_fds(template, [b"+"], [0, 1, 2])
            template.sendall(json.dumps({"environment": dict(os.environ), "path": sys.path}).encode())
            template.shutdown(socket.SHUT_WR)
            parent = int(template.recv(32) or b"0")
        except OSError:
            return False
        if not parent:
            return False
        signal.signal(signal.SIGTERM, lambda *_: os.kill(parent, signal.SIGTERM))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        while template.recv(1):
            pass
    return True


if __name__ == "__main__" and not handed_over(os.environ.get(TEMPLATE, "")):
    from pyspark.daemon import manager

    manager()
