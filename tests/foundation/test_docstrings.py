"""Every public class, function and method is documented, by its own docstring or by one that it inherits.

The tests of the shipped kits are described by their names.

Ruff's D102 asks it of methods too, but does not know what an overriding method inherits.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from importlib.util import find_spec
from types import ModuleType

import seatunnel_core
import seatunnel_storage_api

NEEDING = {"seatunnel_core.clients.kerberos": "gssapi"}
"""Modules that need a library of the system, which need not be installed."""


def _modules() -> Iterator[ModuleType]:
    for package in (seatunnel_core, seatunnel_storage_api):
        yield package
        for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if not found.name.endswith("__main__") and (found.name not in NEEDING or find_spec(NEEDING[found.name])):
                yield importlib.import_module(found.name)


def _undocumented(module: ModuleType) -> Iterator[str]:
    for name, member in vars(module).items():
        if name.startswith("_") or getattr(member, "__module__", None) != module.__name__:
            continue
        if inspect.isfunction(member) and not inspect.getdoc(member):
            yield f"{module.__name__}.{name}"
        if inspect.isclass(member):
            if not member.__doc__:
                yield f"{module.__name__}.{name}"
            for part, method in vars(member).items():
                if part.startswith(("_", "test_")) or not isinstance(
                    method, property | classmethod | staticmethod | type(_modules)
                ):
                    continue
                if not inspect.getdoc(getattr(member, part)):
                    yield f"{module.__name__}.{name}.{part}"


def test_all_that_is_public_is_documented() -> None:
    assert [name for module in _modules() for name in _undocumented(module)] == []
