"""Lists of blocks in the option ``rules``."""

from collections.abc import Mapping
from typing import Any


def blocks_of(rule: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """Return the blocks in a list; empty if the key is missing. A single block counts as a list of one.

    Raises:
        ValueError: The value is neither a block nor a list of blocks.
    """
    value = rule.get(key) or []
    found = [value] if isinstance(value, Mapping) else value
    if not isinstance(found, list) or not all(isinstance(each, Mapping) for each in found):
        raise ValueError(f"{key}: expected a list of blocks, {key} = [ {{ … }} ]")
    return found
