"""Import paths and names of the previous version, for plugins that were written for it.

Each of them works, and warns with the path or the name to use instead. The next version removes all of them.
"""

import sys
import warnings
from collections.abc import Callable, Sequence
from functools import wraps
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

MOVED = {
    "seatunnel_core.checkpoint.split": (
        "seatunnel_core.work.split",
        "seatunnel_core.work.unit",
        "seatunnel_core.work.committable",
    ),
    "seatunnel_core.checkpoint.retraction": ("seatunnel_core.work.retraction",),
    "seatunnel_core.runtime.metrics": ("seatunnel_core.reporting.metrics",),
    "seatunnel_core.runtime.open_metrics": ("seatunnel_core.reporting.open_metrics",),
    "seatunnel_core.runtime.report": ("seatunnel_core.reporting.report",),
    "seatunnel_core.connectors.description": ("seatunnel_core.registry.description",),
    "seatunnel_core.connectors.file.committed": ("seatunnel_core.connectors.staging.committed",),
    "seatunnel_core.connectors.file.filesystem": ("seatunnel_core.connectors.filesystems.filesystem",),
    "seatunnel_core.connectors.file.local": ("seatunnel_core.connectors.filesystems.local",),
    "seatunnel_core.connectors.file.naming": ("seatunnel_core.connectors.staging.naming",),
    "seatunnel_core.connectors.file.published": ("seatunnel_core.connectors.staging.published",),
    "seatunnel_core.connectors.file.row_batches": ("seatunnel_core.connectors.file.formats.row_batches",),
    "seatunnel_core.connectors.file.source_format": ("seatunnel_core.connectors.file.formats.source_format",),
    "seatunnel_core.connectors.file.staged_name": ("seatunnel_core.connectors.filesystems.staged_name",),
    "seatunnel_core.connectors.file.staging": ("seatunnel_core.connectors.staging.target",),
    "seatunnel_core.connectors.file.table_names": ("seatunnel_core.connectors.staging.table_names",),
    "seatunnel_core.connectors.file.writer": ("seatunnel_core.connectors.file.formats.writer",),
    "seatunnel_core.connectors.not_yet": ("seatunnel_core.registry.not_yet",),
    "seatunnel_core.connectors.registry": ("seatunnel_core.registry.lookup",),
    "seatunnel_core.connectors.testing.transform_suite": ("seatunnel_core.transforms.testing.suite",),
    "seatunnel_core.transforms.columns": ("seatunnel_core.rows.columns",),
}
"""By an old module: the modules that have its names now."""


class MovedModules:
    """A finder and loader for ``sys.meta_path``, asked last so that it costs nothing where modules are found."""

    def find_spec(self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None) -> ModuleSpec | None:
        """Return a spec for an old path, ``None`` for every other one."""
        return ModuleSpec(name, self) if name in MOVED else None  # type: ignore[arg-type]

    def create_module(self, _spec: ModuleSpec) -> None:
        """Leave the creation of an empty module to Python."""

    def exec_module(self, module: ModuleType) -> None:
        """Warn, and make the module look up each name where it is now."""
        homes = MOVED[module.__name__]
        warnings.warn(
            f"{module.__name__} is {' and '.join(homes)} now; the old path goes with the next version",
            DeprecationWarning,
            stacklevel=2,
        )
        module.__dict__["__getattr__"] = _finder_of(module.__name__, homes)


def _finder_of(old: str, homes: Sequence[str]) -> Callable[[str], Any]:
    def find(name: str) -> Any:
        for home in homes:
            if hasattr(found := import_module(home), name):
                return getattr(found, name)
        raise AttributeError(f"module {old!r} has no attribute {name!r}")

    return find


def keep_moved_modules() -> None:
    """Make old import paths work in this process."""
    if not any(isinstance(finder, MovedModules) for finder in sys.meta_path):
        sys.meta_path.append(MovedModules())


def keep_renamed_method(plugin: type, old: str, new: str) -> None:
    """Let a method be defined and called by its old name in a class that has just been made.

    A class that defines only the old name is used under the new one. A class that defines the new name can be called
    by the old one, also by ``super()``.
    """
    own = vars(plugin)
    if new in own:
        setattr(plugin, old, _by_old_name(own[new], old, new))
    elif old in own:
        warnings.warn(
            f"the method {old} of {plugin.__name__} is {new} now: rename it; the old name goes with the next version",
            DeprecationWarning,
            stacklevel=4,  # behind __init_subclass__ and the metaclass: the class statement
        )
        setattr(plugin, new, own[old])


def _by_old_name(method: Callable[..., Any], old: str, new: str) -> Callable[..., Any]:
    @wraps(method)
    def call(*arguments: Any, **named: Any) -> Any:
        warnings.warn(
            f"the method {old} is {new} now; the old name goes with the next version",
            DeprecationWarning,
            stacklevel=2,
        )
        return method(*arguments, **named)

    call.__doc__ = f"Call ``{new}``, which is the name of this method now."
    return call
