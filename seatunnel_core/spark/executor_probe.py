"""Probe of an executor before data is moved. It imports only the standard library: other modules may be missing."""

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
    """Yield a description of this task's location and of the modules that it cannot import.

    The mapping has the keys ``node``, ``executor``, ``python``, ``version``, ``missing`` (a reason for each module) and
    ``task``. The pause, in seconds, gives other executors time to get tasks. If no module is missing, the importable
    modules in ``preloads`` are imported.
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
