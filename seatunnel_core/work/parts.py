"""Large parts of an unbounded source's cursor: bytes that are stored once, as attachments.

Checkpoints contain only the name of the attachment: ``{"$attachment": "<SHA-256>"}``. An attachment is kept as long as
its job, so every checkpoint and savepoint that refers to it can be restored.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from seatunnel_core.errors import StoredValueError

_KEY = "$attachment"
_DIGEST = re.compile(r"[0-9a-f]{64}")
_BEGINNING = b"\0part\0"
"""First bytes of an attachment that contains a part. An enumeration, which is JSON, never starts with them."""


def is_part(attachment: bytes) -> bool:
    """Return True if the body of an attachment is a part of a cursor."""
    return attachment.startswith(_BEGINNING)


def part_of(attachment: bytes) -> bytes:
    """Return the part in an attachment; raise ``StoredValueError`` if the attachment has no part."""
    if not is_part(attachment):
        raise StoredValueError("the attachment does not contain a part of a source's cursor")
    return attachment[len(_BEGINNING) :]


def attachment_of(part: bytes) -> bytes:
    """Return the body of the attachment for a part."""
    return _BEGINNING + part


def named_parts(memory: Any) -> Iterator[str]:
    """Yield the digests of all parts that a stored cursor refers to."""
    left = [memory]
    while left:
        value = left.pop()
        if isinstance(value, Mapping):
            if value.keys() == {_KEY}:
                yield _digest(value[_KEY])
            else:
                left.extend(value.values())
        elif isinstance(value, list | tuple):
            left.extend(value)


def without_parts(memory: Any, store: Callable[[bytes], str]) -> Any:
    """Return a cursor with its parts replaced by names; ``store`` stores a part and returns its digest."""
    if isinstance(memory, bytes):
        return {_KEY: store(memory)}
    return _mapped(memory, lambda value: without_parts(value, store))


def with_parts(memory: Any, get: Callable[[str], bytes]) -> Any:
    """Return a stored cursor with its names replaced by the parts; ``get`` returns the part for a digest."""
    if isinstance(memory, Mapping) and memory.keys() == {_KEY}:
        return get(_digest(memory[_KEY]))
    return _mapped(memory, lambda value: with_parts(value, get))


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, Mapping):
        return {key: change(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [change(each) for each in value]
    return value


def _digest(value: Any) -> str:
    if not isinstance(value, str) or not _DIGEST.fullmatch(value):
        raise StoredValueError(f"the name of a part must be 64 lowercase hex digits, not {ascii(value)[:60]}")
    return value
