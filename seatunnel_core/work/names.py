"""Detection of duplicate names of columns, tables and keys."""

from collections import Counter
from collections.abc import Iterable


def repeated(names: Iterable[str]) -> list[str]:
    """Return the duplicated names, each once and sorted, in linear time."""
    return sorted(name for name, times in Counter(names).items() if times > 1)
