"""What an executor says about itself before data moves. Imports the standard library only: the rest may be missing."""

import importlib
import os
import socket
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any


def probe(
    modules: Sequence[str], pause_s: float, preloads: Sequence[str], task: int, partition: Iterable[object]
) -> Iterator[dict[str, Any]]:
    """Yield where this task runs and which of the modules it cannot import.

    The pause lets other executors get tasks. Whatever of ``preloads`` can be imported is imported, too.
    """
    for _ in partition:
        pass
    time.sleep(pause_s)
    missing = {}
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception as error:
            missing[module] = f"{type(error).__name__}: {error}"
    for module in preloads if not missing else ():
        with suppress(Exception):  # the work unit that needs it reports why it cannot be imported
            importlib.import_module(module)
    yield {
        "node": socket.gethostname(),
        "executor": os.environ.get("SPARK_EXECUTOR_DIRS", str(os.getppid())),
        "python": sys.executable,
        "version": ".".join(map(str, sys.version_info[:3])),
        "missing": missing,
        "task": task,
    }
