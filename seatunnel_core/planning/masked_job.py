"""Job file for display to other users: without comments and secrets, and with unresolved variables."""

import json
import re
from collections.abc import Iterator

from seatunnel_core.config.document import Block, Items, Scalar, Value
from seatunnel_core.config.file import parse
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.variables import Variables, is_secret_place, without_salt
from seatunnel_core.errors import ConfigError
from seatunnel_storage_api.secret import HIDDEN, shown

LONGEST = 64 * 1024
"""Maximum length of a job file in characters. Longer files are not shown, because parsing them would block the node."""

_INDENT = "  "
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_.-]+")
_VARIABLE = re.compile(r"\$\{[^{}]*\}")


def masked_job(text: str, name: str) -> str:
    """Return a job as HOCON with each secret replaced by ``***``; empty if it is too long or cannot be parsed.

    The result is generated from the parsed tree, so comments and unusual notations cannot reveal a secret. The file
    ``name`` determines the format.
    """
    if len(text) > LONGEST:
        return ""
    try:
        tree = parse(text, name, Variables({}, {}, kept=True), Problems())
    except ConfigError:
        return ""
    written = "\n".join(_entries(tree, (), 0))
    return (
        written if len(written) <= LONGEST else f"{written[:LONGEST]}\n# … {len(written) - LONGEST:,} more characters"
    )


def _entries(block: Block, keys: tuple[str, ...], depth: int) -> Iterator[str]:
    for entry in block:
        yield from _written(_key(entry.key, keys), entry.value, (*keys, entry.key), depth)


def _written(head: str, value: Value, keys: tuple[str, ...], depth: int) -> Iterator[str]:
    margin = _INDENT * depth
    while head and isinstance(value, Block) and len(value.entries) == 1 and (keys[0] == "env" or depth > 1):
        (only,) = value.entries
        head, value, keys = f"{head}.{_key(only.key, keys)}", only.value, (*keys, only.key)
    if isinstance(value, Block):
        yield f"{margin}{head} {{" if head else f"{margin}{{"
        yield from _entries(value, keys, depth + 1)
        yield f"{margin}}}"
    elif isinstance(value, Items) and any(not isinstance(each, Scalar) for each in value.values):
        yield f"{margin}{head} = [" if head else f"{margin}["
        for each in value.values:
            yield from _written("", each, keys, depth + 1)
        yield f"{margin}]"
    elif isinstance(value, Items):
        inside = ", ".join(_scalar(each, keys) for each in value.values if isinstance(each, Scalar))
        yield f"{margin}{head} = [{inside}]" if head else f"{margin}[{inside}]"
    else:
        yield f"{margin}{head} = {_scalar(value, keys)}" if head else f"{margin}{_scalar(value, keys)}"


def _key(key: str, above: tuple[str, ...]) -> str:
    """Return a key as HOCON, without the salt in the name of a Debezium property."""
    if ".with.salt." in f".{'.'.join(above)}.".lower():
        key = HIDDEN
    key = without_salt(key)
    return key if _PLAIN_KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False)


def _scalar(scalar: Scalar, keys: tuple[str, ...]) -> str:
    value = scalar.value
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if is_secret_place(keys):
        return json.dumps(_secret(keys[-1], scalar.text), ensure_ascii=False)
    if isinstance(value, int | float):
        return scalar.text
    return json.dumps(shown(keys[-1] if keys else "", str(value)), ensure_ascii=False)


def _secret(key: str, text: str) -> str:
    """Return the text to display for a secret: a variable or a reference unchanged, otherwise ``***``."""
    if _VARIABLE.fullmatch(text):
        return text
    masked = shown("password", text)  # a reference to a secret is shown unchanged
    return masked if masked == text and shown(key, text) == text else HIDDEN
