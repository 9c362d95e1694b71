"""The parent of an executor's Python processes on workers of a cluster: they are forks of it, with PyArrow imported.

A worker copies this file beside the Python that executors start, under a name of its own: nothing of the engine may be
imported here, because its modules come with the application, from the driver.
"""

import gc
from contextlib import suppress
from importlib import import_module

from pyspark.daemon import manager

if __name__ == "__main__":
    for name in ("pyspark.worker", "pyarrow"):
        with suppress(Exception):  # who needs it finds out by himself, and says for what
            import_module(name)
    gc.collect()
    gc.freeze()
    manager()
