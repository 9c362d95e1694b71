"""Shipping of code to the executors of a cluster, and the check that they can run it.

Executors need Python and all compiled modules, in particular pyarrow. Pure Python modules (the engine, attrs, the job's
plugins and their imports) are shipped with the application. They need not be declared: a new Python process imports the
code of the tasks and reports the loaded modules. Modules that a plugin declares as ``task_modules`` are never shipped:
they must be installed on every executor.
"""

import json
import logging
import pickletools
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import weakref
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from attrs import field, frozen

from seatunnel_core.connectors.task_modules import packages
from seatunnel_core.errors import PlatformError
from seatunnel_core.spark.executor_probe import probe

if TYPE_CHECKING:
    from pyspark import SparkContext

logger = logging.getLogger("seatunnel.spark")

TASK_MODULES = ("seatunnel_core.spark.task", "seatunnel_core.spark.frames.task", "seatunnel_core.spark.executor_probe")
"""Modules that every task imports, regardless of the job."""

OWN_PACKAGE = "seatunnel_core."
"""Prefix of the engine's modules. A new Python process can import these modules, but perhaps not those of a script."""

_SPARKS_OWN = frozenset({"pyspark", "py4j"})
_ALWAYS_THERE = frozenset({*sys.stdlib_module_names, *_SPARKS_OWN, "__main__"})
WAIT_OPTION = "spark.scheduler.maxRegisteredResourcesWaitingTime"
"""Spark option for the time that an application waits for its executors."""

WAIT_S = 180
"""Default of ``WAIT_OPTION``, in seconds. It is longer than ``spark.network.timeout``, after which a master reclaims
the executors of a lost driver.
"""

_LOG_AFTER_S = 10.0
_SETTLED_S = 1.5
_PROBE_PAUSE_S = 0.2
_NOTHING: Mapping[str, str] = MappingProxyType({})

_WHY_NO_EXECUTOR = (
    "See the web page of the Spark master for the reason: no worker is alive, none has spark.executor.memory "
    "available, or another application has all cores (limit its cores with spark.cores.max). A killed driver "
    "releases its cores within seconds, and a driver on a lost machine after spark.network.timeout. If executors "
    f"start and end, see their logs on the workers. To wait longer, set {WAIT_OPTION} = 10min in the env of the job"
)

_LIST_IMPORTS = """
import importlib, json, sys
sys.path[:0] = sys.argv[1].splitlines()
import pyarrow
brought_by_pyarrow = {name.partition(".")[0] for name in sys.modules} - {"pyarrow"}  # numpy, where it is installed
for name in sys.argv[2:]:
    importlib.import_module(name)
found = {}
for name, module in list(sys.modules.items()):
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names or top in brought_by_pyarrow or top.startswith(("__", "_sysconfigdata")):
        continue
    origin = getattr(module, "__file__", None)
    if origin is None:
        continue
    entry = found.setdefault(top, {"file": None, "compiled": False})
    if name == top:
        entry["file"] = origin
    if not origin.endswith((".py", ".pyc")):
        entry["compiled"] = True
print(json.dumps(found))
"""


@frozen(kw_only=True)
class Imports:
    """Modules that an import loads, except the standard library and Spark's own Python code."""

    pure: dict[str, Path] = field(repr=False)
    """Modules that can be shipped, given as the folder or file of each top-level name."""

    compiled: tuple[str, ...]
    """Top-level names that must be installed where tasks run."""


class Shipment:
    """Modules that an application has shipped, shared by all its backends. Empty if the master is local.

    It is shared because an executor rejects a second file with the same name.
    """

    def __init__(self, folder: Path) -> None:
        """Create a shipment that keeps its archives in ``folder`` for executors that join later."""
        self._folder = folder
        self._lock = threading.Lock()
        self._covered: set[str] = set()
        self._shipped: set[str] = set()
        self._required: set[str] = set()
        self._installed: dict[str, str] = {}
        self._settled = False
        """True once the cluster has granted all its initial executors."""

    def cover(
        self,
        context: "SparkContext",
        given_up: threading.Event,
        modules: Iterable[str],
        declared: Mapping[str, str] = _NOTHING,
    ) -> None:
        """Ensure that tasks can import the modules. Repeated calls for the same modules return immediately.

        Setting ``given_up`` ends the wait for executors. ``declared`` contains additional modules, each with the plugin
        that needs it.

        Raises:
            PlatformError: An executor lacks a module. The message contains the node, the module and a pip command.
        """
        with self._lock:
            new = sorted({each for each in modules if each.partition(".")[0] not in _ALWAYS_THERE} - self._covered)
            found = imports_of(new) if new else Imports(pure={}, compiled=())
            self._installed.update(declared)
            self._ship(context, found)
            self._covered.update(new)
            required = {*found.compiled, *declared} - self._required
            if required:
                executors = wait_for_executors(context, given_up, 0.0 if self._settled else _SETTLED_S)
                self._settled = True
                probe_executors(context, executors, sorted(required), declared, new)
                self._required |= required

    def probe_again(self, context: "SparkContext") -> None:
        """Probe the current executors, including new ones, and make them import the covered modules."""
        with self._lock:
            required, declared, covered = sorted(self._required), dict(self._installed), sorted(self._covered)
        probe_executors(context, len(executors(context)), required, declared, covered)

    def _ship(self, context: "SparkContext", found: Imports) -> None:
        fresh = {n: path for n, path in found.pure.items() if n not in self._shipped and n not in self._installed}
        if fresh:
            archive = self._folder / f"seatunnel-{len(self._shipped)}.zip"
            write_archive(archive, fresh)
            context.addPyFile(str(archive))
            self._shipped.update(fresh)
            logger.debug("shipped to the executors: %s", ", ".join(sorted(fresh)))


_SHIPMENTS: "WeakKeyDictionary[SparkContext, Shipment]" = WeakKeyDictionary()
_SHIPMENTS_LOCK = threading.Lock()


def shipment(context: "SparkContext") -> Shipment:
    """Return the application's shipment, which is the same object for all callers."""
    with _SHIPMENTS_LOCK:
        if context not in _SHIPMENTS:
            folder = tempfile.mkdtemp(prefix="seatunnel-ship-")
            weakref.finalize(context, shutil.rmtree, folder, ignore_errors=True)
            _SHIPMENTS[context] = Shipment(Path(folder))
        return _SHIPMENTS[context]


def modules_in(pickled: bytes) -> set[str]:
    """Return the modules that unpickling imports. They contain the job's plugin classes and functions."""
    modules: set[str] = set()
    memo: list[object] = []
    last: tuple[object, object] = (None, None)
    for opcode, argument, _ in pickletools.genops(pickled):
        if opcode.name == "MEMOIZE":
            memo.append(last[1])
        elif opcode.name in ("BINGET", "LONG_BINGET"):
            last = (last[1], memo[int(argument or 0)])
        elif opcode.name == "STACK_GLOBAL":
            modules.add(str(last[0]))
            last = (None, None)
        else:
            last = (last[1], argument)
    return modules


def imports_of(modules: Sequence[str]) -> Imports:
    """Import the modules in a new Python process, and return the loaded modules."""
    path = "\n".join(entry for entry in sys.path if entry)
    command = [sys.executable, "-c", _LIST_IMPORTS, path, *modules]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        said = (answer.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise PlatformError(f"modules that tasks need cannot be imported ({', '.join(modules)}): {said}")
    pure: dict[str, Path] = {}
    compiled = []
    for name, entry in json.loads(answer.stdout.splitlines()[-1]).items():
        if name in _SPARKS_OWN:
            continue
        if entry["compiled"] or entry["file"] is None:
            compiled.append(name)
            continue
        file = Path(entry["file"])
        pure[name] = file.parent if file.name.startswith("__init__.") else file
    return Imports(pure=pure, compiled=tuple(sorted(compiled)))


def write_archive(archive: Path, packages: dict[str, Path]) -> None:
    """Write a ZIP archive from which Python can import the packages and modules."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zip_file:
        for name, path in sorted(packages.items()):
            if path.is_file():
                zip_file.write(path, path.name)
                continue
            for file in sorted(path.rglob("*")):
                if file.is_file() and "__pycache__" not in file.parts:
                    zip_file.write(file, f"{name}/{file.relative_to(path)}")


def wait_for_executors(context: "SparkContext", given_up: threading.Event, settled_s: float = _SETTLED_S) -> int:
    """Wait until the number of executors has not changed for ``settled_s`` seconds, and return it.

    Raises:
        PlatformError: The time of ``WAIT_OPTION`` has passed, the cluster ended the application, or ``given_up`` was
            set.
    """
    seconds = int(context._jsc.sc().conf().getTimeAsSeconds(WAIT_OPTION, f"{WAIT_S}s"))
    begun = since = time.monotonic()
    known, is_logged = 0, False
    while (waited := time.monotonic() - begun) < seconds:
        if context._jsc.sc().isStopped():
            raise PlatformError(f"the cluster at {context.master} ended the application. {_WHY_NO_EXECUTOR}")
        now = len(executors(context))
        if now != known:
            known, since = now, time.monotonic()
        if known and time.monotonic() - since >= settled_s:
            return known
        if not known and not is_logged and waited > _LOG_AFTER_S:
            is_logged = True
            logger.warning("no executor yet from the cluster at %s; waiting up to %d s", context.master, seconds)
        if given_up.wait(0.1):
            raise PlatformError(f"the cluster at {context.master} provided no executor before the job was stopped")
    if known:
        return known
    raise PlatformError(f"the cluster at {context.master} provided no executor within {seconds} s. {_WHY_NO_EXECUTOR}")


def probe_executors(
    context: "SparkContext",
    executors: int,
    modules: Sequence[str],
    declared: Mapping[str, str] = _NOTHING,
    preloads: Sequence[str] = (),
) -> int:
    """Make each executor import the modules, and return the number of executors that responded.

    ``modules`` must be installed on the executors, as must the ``declared`` modules, each with the plugin that needs
    it. ``preloads`` are shipped modules that Python workers import in advance, so that no work unit waits for them.
    """
    tasks = max(int(context.defaultParallelism), executors) * 2
    base = context.parallelize(range(tasks), tasks)
    for _ in range(3):
        answers = base.mapPartitionsWithIndex(partial(probe, tuple(modules), _PROBE_PAUSE_S, tuple(preloads))).collect()
        lacking = {(a["node"], a["python"]): a["missing"] for a in answers if a["missing"]}
        if lacking:
            lines = (what_to_do(*where, missing, declared) for where, missing in sorted(lacking.items()))
            raise PlatformError("\n".join(lines))
        answered = len({answer["executor"] for answer in answers})
        if answered >= executors:
            break
    logger.debug("%d of %d executors responded to the probe", answered, executors)
    return answered


def what_to_do(node: str, python: str, missing: Mapping[str, str], declared: Mapping[str, str]) -> str:
    """Return the message about a node: its Python, the missing modules with reasons, and the pip command."""
    said = "; ".join(
        f"{module}{f', which {declared[module]} needs' if module in declared else ''} ({reason})"
        for module, reason in missing.items()
    )
    return (
        f"node {node}: its Python {python} cannot import {said}. "
        f"Run there: {python} -m pip install {packages(missing)} — or ship an environment with spark.archives"
    )


def executors(context: "SparkContext") -> frozenset[str]:
    """Return the IDs of a cluster's executors. An application never reuses an ID."""
    return frozenset(filter(None, context._jsc.sc().getExecutorIds().mkString(" ").split()))


def cores(context: "SparkContext") -> int:
    """Return the current number of cores of a cluster's executors."""
    return int(context._jsc.sc().schedulerBackend().totalCoreCount())
