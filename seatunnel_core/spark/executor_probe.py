"""What an executor says about itself before data moves. Imports the standard library only: the rest may be missing."""

import importlib
import os
import socket
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any


def probe(modules: Sequence[str], pause_s: float, task: int, partition: Iterable[object]) -> Iterator[dict[str, Any]]:
    """Say where this task runs and which of the modules it cannot import. The pause lets other executors get tasks."""
    for _ in partition:
        pass
    time.sleep(pause_s)
    missing = {}
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception as error:
            missing[module] = f"{type(error).__name__}: {error}"
    yield {
        "node": socket.gethostname(),
        "executor": os.environ.get("SPARK_EXECUTOR_DIRS", str(os.getppid())),
        "python": sys.executable,
        "version": ".".join(map(str, sys.version_info[:3])),
        "missing": missing,
        "task": task,
    }
