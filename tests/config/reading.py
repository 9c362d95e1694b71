"""Shortcuts of the configuration's tests."""

from typing import Any

from seatunnel_core.config.document import Block, Items, Value
from seatunnel_core.config.file import parse
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.variables import Variables


def read(text: str, name: str = "job.conf", *, problems: Problems | None = None, **given: str) -> Block:
    """Parse a text without the variables of this process; errors of variables raise too."""
    found = problems if problems is not None else Problems()
    tree = parse(text, name, Variables(given, {}), found)
    if problems is None:
        found.raise_errors()
    return tree


def pairs(value: Value) -> Any:
    """The tree with blocks as lists of pairs: shows order, and keys that stand twice."""
    if isinstance(value, Block):
        return [(entry.key, pairs(entry.value)) for entry in value]
    if isinstance(value, Items):
        return [pairs(part) for part in value.values]
    return value.value
