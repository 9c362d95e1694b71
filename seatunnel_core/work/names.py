"""Names that have to differ: of columns, of tables, of keys."""

from collections import Counter
from collections.abc import Iterable


def repeated(names: Iterable[str]) -> list[str]:
    """Return the names that occur more than once, each once and sorted, in time linear in their number."""
    return sorted(name for name, times in Counter(names).items() if times > 1)
