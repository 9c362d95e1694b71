"""Inference of the shape of JSON lines."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from seatunnel_core.rows.inference.shape import DEEPEST, Shape
from seatunnel_core.rows.native_json import glanced

_AT_ONCE = 4096
"""Number of rows in memory at a time."""


def infer_shape(lines: Iterable[bytes], levels: int = DEEPEST) -> Shape:
    """Infer the shape of rows in JSON lines, down to ``levels`` levels. Lines without an object are ignored."""
    shape, lines = Shape(), iter(lines)
    while some := list(islice(lines, _AT_ONCE)):
        shape.see(_objects(some), levels + 1)
    return shape


def _objects(lines: Sequence[bytes]) -> list[dict[str, Any]]:
    """Return the objects in lines.

    Lines that certainly contain one object each are parsed together, which is twice as fast.
    """
    if all(line[:1] == b"{" and line[-1:] == b"}" for line in lines):
        try:
            found = glanced(b"[" + b",".join(lines) + b"]")
        except ValueError:
            found = []
        if len(found) == len(lines) and all(type(each) is dict for each in found):
            return found  # type: ignore[no-any-return]
    return [found for line in lines if (found := _object(line)) is not None]


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        found = glanced(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
