"""Parent process of the tasks' Python workers on the driver's machine. Spark starts it.

Spark's option ``spark.python.daemon.module`` names this module. The parent passes its pipes to the worker template
(``worker_template``), which has imported all modules and forks a process that replaces this parent. This process ends
when the forked process ends. Without a template, this process itself is the parent.
"""

import json
import os
import signal
import socket
import sys

TEMPLATE = "SEATUNNEL_WORKER_TEMPLATE"
"""Environment variable with the path of the template's socket."""


def handed_over(path: str) -> bool:
    """Let the template fork a replacement parent. Return True after it has ended, or False if none was forked."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # until it is known which process handles it
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
