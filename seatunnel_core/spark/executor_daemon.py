"""Daemon of an executor on a worker node: forks its Python processes, with PyArrow already imported.

A worker node copies this file, under another name, next to the Python that executors start. It must not import modules
of the engine, because they are shipped later, with the application.
"""

import gc
from contextlib import suppress
from importlib import import_module

from pyspark.daemon import manager

if __name__ == "__main__":
    for name in ("pyspark.worker", "pyarrow"):
        with suppress(Exception):  # the task that needs it reports the error
            import_module(name)
    gc.collect()
    gc.freeze()
    manager()
