"""Objects of JSON that have a key more than once: of two values one would be lost, so whoever takes it refuses the row.

A key that nobody reads does no harm. So an object only remembers which of its keys are repeated.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any


class RepeatedKeyError(ValueError):
    """A value of an object is wanted whose key stands in it more than once; the message is complete."""


class RepeatedKeys(dict[str, Any]):
    """An object with the last value of each key."""

    def __init__(self, values: Mapping[str, Any], repeated: Collection[str]) -> None:
        super().__init__(values)
        self.repeated = repeated
        """The keys that stand in the object more than once, in their order."""


def object_of_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of some keys and values: the ``object_pairs_hook`` of a decoder of JSON."""
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    counts = Counter(name for name, _ in pairs)
    return RepeatedKeys(found, [name for name in found if counts[name] > 1])


def require_once(document: Any, keys: Collection[str] | None = None) -> None:
    """Raise ``RepeatedKeyError`` if one of some keys, or any key, stands in an object more than once."""
    if isinstance(document, RepeatedKeys):
        for name in document.repeated:
            if keys is None or name in keys:
                raise RepeatedKeyError(
                    f"the key {name!r} stands in one object more than once, and only one of its values could be kept; "
                    "rename or remove one in the source"
                )
