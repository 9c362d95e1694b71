"""JSON objects with duplicate keys. Reading a duplicate key rejects the row, because one of the values would be lost.

Duplicates of unused keys are harmless, so an object only records which of its keys are duplicated.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any


class RepeatedKeyError(ValueError):
    """Error for a duplicated key of an object that was requested. The message can be shown without additions."""


class RepeatedKeys(dict[str, Any]):
    """A JSON object with duplicate keys. It contains the last value of each key."""

    def __init__(self, values: Mapping[str, Any], repeated: Collection[str]) -> None:
        super().__init__(values)
        self.repeated = repeated
        """Duplicate keys of the object, in order."""


def object_of_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Create an object from its pairs, as ``object_pairs_hook`` of a JSON decoder."""
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    counts = Counter(name for name, _ in pairs)
    return RepeatedKeys(found, [name for name in found if counts[name] > 1])


def require_once(document: Any, keys: Collection[str] | None = None) -> None:
    """Raise RepeatedKeyError if one of these keys (by default any key) is duplicated in an object."""
    if isinstance(document, RepeatedKeys):
        for name in document.repeated:
            if keys is None or name in keys:
                raise RepeatedKeyError(
                    f"the key {name!r} occurs more than once in an object, so a value would be lost; "
                    "rename or remove one in the source"
                )
