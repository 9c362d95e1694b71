"""Names of the previous version. Each of them works, and warns with the name to use instead, until the next version."""

import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any


def renamed(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for a module, with which the old names of its members still work.

    Args:
        module: the name of the module.
        names: the new name of a member by its old one.
    """

    def find(old: str) -> Any:
        if old not in names:
            raise AttributeError(f"module {module!r} has no attribute {old!r}")
        warnings.warn(
            f"{module}.{old} is {names[old]} now; the old name goes with the next version",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(sys.modules[module], names[old])

    return find
