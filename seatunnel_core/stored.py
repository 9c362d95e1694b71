"""Type-checked access to values in stored JSON.

A seal proves that the bytes are unchanged, but not that this program wrote them. So readers of checkpoints, manifests
and attachments use these functions, which return a value of the requested type or raise ``StoredValueError``.
"""

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from seatunnel_core.errors import StoredValueError

MOST = 2**63 - 1
"""Maximum number in a stored state: the largest signed 64-bit integer."""

Block = Mapping[str, Any]

_MAPPING = (dict, Mapping)
"""Types accepted as a block. ``dict`` is first because checks against abstract classes are ten times slower."""


def parse(encoded: bytes) -> Any:
    """Return the JSON value of the bytes; raise ``StoredValueError`` for invalid JSON, NaN and infinities."""
    try:
        return json.loads(encoded, parse_constant=_refuse_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise StoredValueError(f"not JSON: {type(error).__name__}: {error}") from error


def written(content: Block) -> bytes:
    """Return human-readable JSON. Equal contents have equal bytes."""
    return json.dumps(content, sort_keys=True, indent=1).encode()


def member(block: Any, key: str) -> Any:
    """Return the value of ``key``, of any type."""
    if not isinstance(block, _MAPPING):
        raise StoredValueError(f"expected a block with {key!r}, found {_shown(block)}")
    try:
        return block[key]
    except KeyError:
        raise StoredValueError(f"{key!r} is missing") from None


def has(block: Any, key: str) -> bool:
    """Return True if a block has a value for ``key``."""
    if not isinstance(block, _MAPPING):
        raise StoredValueError(f"expected a block, found {_shown(block)}")
    return key in block


def number(block: Any, key: str, *, least: int = 0, most: int = MOST) -> int:
    """Return an integer from ``least`` to ``most``, inclusive."""
    value = member(block, key)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        _refuse(key, f"a whole number from {least} to {most}", value)
    return value


_NEVER_SECONDS = 1e11
"""Exclusive upper bound of the times that a calendar can represent, in seconds since 1970."""


def seconds(block: Any, key: str) -> float:
    """Return a time in seconds since 1970."""
    value = member(block, key)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < _NEVER_SECONDS:
        _refuse(key, "seconds since 1970", value)
    return value


def flag(block: Any, key: str) -> bool:
    """Return a boolean."""
    value = member(block, key)
    if not isinstance(value, bool):
        _refuse(key, "true or false", value)
    return value


def text(block: Any, key: str) -> str:
    """Return a string without lone surrogates, so that it can be printed."""
    value = member(block, key)
    if not isinstance(value, str) or not _writable(value):
        _refuse(key, "a string", value)
    return value


def string(block: Any, key: str) -> str:
    """Return a string that may contain lone surrogates, such as a message with a file name."""
    value = member(block, key)
    if not isinstance(value, str):
        _refuse(key, "a string", value)
    return value


def path(block: Any, key: str) -> str:
    """Return a string that is a valid file name for the operating system, as returned by ``os.fsdecode``."""
    value = member(block, key)
    if not isinstance(value, str) or not _names_file(value):
        _refuse(key, "a path", value)
    return value


def paths(block: Any, key: str) -> list[str]:
    """Return a list of paths, each checked like ``path``."""
    value = items(block, key)
    if not all(isinstance(each, str) and _names_file(each) for each in value):
        _refuse(key, "a list of paths", value)
    return value


def _names_file(value: str) -> bool:
    try:
        return b"\0" not in value.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return False


def items(block: Any, key: str) -> list[Any]:
    """Return a copy of a list with elements of any type."""
    value = member(block, key)
    if not isinstance(value, list | tuple):
        _refuse(key, "a list", value)
    return list(value)


def texts(block: Any, key: str) -> list[str]:
    """Return a list of strings, each checked like ``text``."""
    value = items(block, key)
    if not all(isinstance(each, str) and _writable(each) for each in value):
        _refuse(key, "a list of texts", value)
    return value


def below(block: Any, key: str) -> dict[str, Any]:
    """Return a copy of the block under ``key``, with its keys checked like ``text``."""
    value = member(block, key)
    if not isinstance(value, _MAPPING):
        _refuse(key, "a block", value)
    if not _writable("".join(value)):
        raise StoredValueError(f"a key in {key!r} is not a string")
    return dict(value)


def _writable(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse(key: str, wanted: str, found: Any) -> NoReturn:
    raise StoredValueError(f"{key!r} must be {wanted}, not {_shown(found)}")


def _shown(value: Any) -> str:
    """Return a short description of a value that may be long, deeply nested or unprintable."""
    if isinstance(value, Mapping):
        return "a block"
    if isinstance(value, list | tuple):
        return "a list"
    shown = ascii(value)
    return shown if len(shown) <= 60 else f"{shown[:60]}…"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _finite(written: str) -> float:
    value = float(written)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"the number {written[:30]} is too large")
    return value
