"""Functions for base64, JSON and MD5."""

import base64
import codecs
import hashlib
import json
import re
from collections.abc import Callable
from typing import Any

from seatunnel_core.rows.java_text import java_text
from seatunnel_core.transforms.sql.call import Call, fixed, function
from seatunnel_core.transforms.sql.engine_function import by_row
from seatunnel_core.transforms.sql.value import BYTES, STRING, SqlError, Value


@function("TO_BASE64", most=2)
def to_base64(call: Call) -> Value:
    """Compile TO_BASE64 of bytes or a string; the second argument is the charset, by default UTF-8."""
    if call.args[0].type == BYTES and len(call.args) == 1:
        return call.make(by_row(lambda value: base64.b64encode(value).decode(), STRING), STRING, fails=False)
    charset = _charset(call)
    return call.make(by_row(lambda text: base64.b64encode(text.encode(charset)).decode(), STRING), STRING, _text(call))


@function("FROM_BASE64", most=2)
def from_base64(call: Call) -> Value:
    """Compile FROM_BASE64, which returns a string; the second argument is the charset, by default UTF-8."""
    charset = _charset(call)
    return call.make(
        by_row(lambda text: base64.b64decode(text, validate=True).decode(charset), STRING), STRING, _text(call)
    )


@function("MD5")
def md5(call: Call) -> Value:
    """Compile MD5, which returns 32 hexadecimal digits."""

    def digest(value: bytes) -> str:
        return hashlib.md5(value, usedforsecurity=False).hexdigest()

    if call.args[0].type == BYTES:
        return call.make(by_row(digest, STRING), STRING, fails=False)
    return call.make(by_row(lambda text: digest(text.encode()), STRING), STRING, _text(call), fails=False)


def _text(call: Call) -> list[Value]:
    return [call.text(0)]


def _charset(call: Call) -> str:
    name = call.known(1, "the name of a charset", "UTF-8")
    try:
        return codecs.lookup(name).name
    except LookupError:
        raise SqlError(f"Sql: {call.what}: {name} is not a known charset") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")


_STEP = re.compile(r"""\.([^.\[]+)|\[\s*(\d+)\s*\]|\[\s*'([^']*)'\s*\]|\[\s*"([^"]*)"\s*\]""")


def _part(text: str, path: str) -> str | None:
    """Return a part of a JSON document as a string; ``None`` if it is missing or the document is not JSON."""
    steps = _steps(path)
    if steps is None:
        return None
    try:
        found = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None
    for step in steps:
        found = step(found)
        if found is None:
            return None
    return found if isinstance(found, str) else _json(found)


fixed("GET_JSON_OBJECT", by_row(_part, STRING), STRING, STRING, STRING)


def _steps(path: str) -> list[Callable[[Any], Any]] | None:
    """Return the steps of a path such as ``$.a[0]['b c']``; ``None`` if the string is not such a path."""
    at, steps = 1, []
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            return None
        field, index, *quoted = found.groups()
        steps.append(
            _field(next((each for each in (field, *quoted) if each is not None), ""))
            if index is None
            else _element(int(index))
        )
        at = found.end()
    return steps if path.startswith("$") else None


def _field(name: str) -> Callable[[Any], Any]:
    return lambda value: value.get(name) if isinstance(value, dict) else None


def _element(at: int) -> Callable[[Any], Any]:
    return lambda value: value[at] if isinstance(value, list) and at < len(value) else None


def _json(value: Any) -> str:
    """Return a value as JSON without whitespace, with numbers in Java's format."""
    if isinstance(value, float):
        return java_text(value)
    if isinstance(value, dict):
        return f"{{{','.join(f'{_json(name)}:{_json(each)}' for name, each in value.items())}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_json, value))}]"
    return json.dumps(value, ensure_ascii=False)
