"""Kill a process of a job at a named step.

Python imports this module at its start if its folder is in ``PYTHONPATH``: the driver and the processes of its tasks.
``CDC_KILL`` contains the step as JSON, written by ``tests.cdc.steps``. The process that is at the step kills the
driver, itself, or the whole session, with ``kill -9``. The file that ``told`` names gets a line before.
"""

import contextlib
import importlib.abc
import importlib.util
import inspect
import json
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial, update_wrapper
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class Killing:
    """One step, and who dies at it."""

    def __init__(self, order: dict[str, Any]) -> None:
        self.module, _, self.path = order["at"].partition(":")
        self._pattern = re.compile(order["pattern"])
        self._side, self._nth, self._victim = order["side"], order["nth"], order["victim"]
        self._told = order["told"]

    def reach(self, arguments: Sequence[Any]) -> None:
        """Count one more time that the step is reached, over all processes, and kill at the nth."""
        if not self._pattern.search(" ".join(f"{each} {getattr(each, 'body', '')}" for each in arguments).rstrip()):
            return
        with open(f"{self._told}.count", "ab") as file:  # appended by one process at a time
            file.write(b".")
            file.flush()
            count = file.tell()
        if count == self._nth:
            with open(self._told, "a", encoding="utf-8") as file:
                file.write(f"{os.getpid()}\n")
            self._kill()

    def _kill(self) -> None:
        driver = os.getsid(0)  # the driver began the session
        if self._victim == "session":
            for pid in _of_session(driver):
                if pid not in (os.getpid(), driver):
                    _kill(pid)
        if self._victim != "worker":
            _kill(driver)
        if self._victim != "driver":
            _kill(os.getpid())

    def watch(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with the step around it; within, it is reached with each item of what it yields."""
        run = self._iterated if self._side == "within" or inspect.isgeneratorfunction(function) else self._called
        return update_wrapper(partial(run, function), function)

    def _called(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        if self._side == "before":
            self.reach(arguments)
        result = function(*arguments, **options)
        if self._side == "after":
            self.reach(arguments)
        return result

    def _iterated(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Iterator[Any]:
        if self._side == "before":
            self.reach(arguments)
        for item in function(*arguments, **options):
            if self._side == "within":
                self.reach(arguments)
            yield item
        if self._side == "after":
            self.reach(arguments)

    def install(self, module: ModuleType) -> None:
        """Put the step into the module."""
        owner: Any = module
        *parents, name = self.path.split(".")
        for parent in parents:
            owner = getattr(owner, parent)
        found = inspect.getattr_static(owner, name)
        of_class = type(found) if isinstance(found, staticmethod | classmethod) else None
        watched = self.watch(found.__func__ if of_class else found)
        setattr(owner, name, of_class(watched) if of_class else _bound(watched))


def _bound(watched: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function: a ``partial`` in a class would not be bound to the instance."""

    def method(*arguments: Any, **options: Any) -> Any:
        return watched(*arguments, **options)

    return update_wrapper(method, watched)


class _Patching(importlib.abc.MetaPathFinder):
    """Installs the step as soon as its module has been imported."""

    def __init__(self, killing: Killing) -> None:
        self._killing = killing

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname != self._killing.module:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_install(module: ModuleType) -> None:
                execute(module)
                self._killing.install(module)

            spec.loader.exec_module = execute_and_install  # type: ignore[method-assign]
        return spec


def _of_session(session: int) -> Iterator[int]:
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                if int(file.read().rpartition(")")[2].split()[3]) == session:
                    yield int(name)
        except OSError:
            continue


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


if "CDC_KILL" in os.environ:
    sys.meta_path.insert(0, _Patching(Killing(json.loads(os.environ["CDC_KILL"]))))
