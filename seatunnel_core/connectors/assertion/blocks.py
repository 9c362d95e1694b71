"""Lists of blocks in the option ``rules``."""

from collections.abc import Mapping
from typing import Any


def blocks_of(rule: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """Return the blocks in a list, or a single block as a list; empty if the key is missing."""
    value = rule.get(key) or []
    found = [value] if isinstance(value, Mapping) else value
    if not isinstance(found, list) or not all(isinstance(each, Mapping) for each in found):
        raise ValueError(f"{key}: expected a list of blocks, {key} = [ {{ … }} ]")
    return found
