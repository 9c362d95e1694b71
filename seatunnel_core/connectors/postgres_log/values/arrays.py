"""PostgreSQL array literals, such as ``{1,NULL,"a b"}``."""

import re
from collections.abc import Iterator
from functools import lru_cache

import pyarrow as pa

from seatunnel_core.connectors.postgres_log.errors import MalformedLogError

_BOUNDS = re.compile(r"(?:\[[-+]?\d+:[-+]?\d+\])+=")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def elements_of(literals: pa.Array, delimiter: str) -> tuple[pa.Array, dict[int, str]]:
    """Parse array literals into lists of strings.

    Args:
        literals: The literals, as strings.
        delimiter: Delimiter of elements: ``;`` for ``box``, otherwise ``,``.

    Returns:
        The lists, and messages keyed by the index of multidimensional arrays, which become null.

    Raises:
        MalformedLogError: A string is not an array literal.
    """
    lists, several = list[list[str | None] | None](), dict[int, str]()
    for number, literal in enumerate(literals.to_pylist()):
        body = None if literal is None else _body(literal)
        if body is not None and body.startswith("{"):
            several[number] = f"{literal[:60]!r} has several dimensions"
            body = None
        lists.append(None if body is None else _elements(literal, body, delimiter))
    return pa.array(lists, pa.list_(pa.string())), several


def _body(literal: str) -> str:
    """Return the content inside the outer braces."""
    bounds = _BOUNDS.match(literal) if literal.startswith("[") else None
    start = bounds.end() if bounds else 0
    if len(literal) < start + 2 or literal[start] != "{" or not literal.endswith("}"):
        raise MalformedLogError(f"{literal[:60]!r} is not an array")
    return literal[start + 1 : -1]


def _elements(literal: str, body: str, delimiter: str) -> list[str | None]:
    if '"' not in body and "\\" not in body and "{" not in body and "}" not in body:
        found = body.split(delimiter) if body else []
        if "" in found:
            raise MalformedLogError(f"{literal[:60]!r} is not an array")
        return [None if each == "NULL" else each for each in found]
    return list(_quoted_elements(literal, body, delimiter))


def _quoted_elements(literal: str, body: str, delimiter: str) -> Iterator[str | None]:
    pattern, at = _element_pattern(delimiter), 0
    while True:
        found = pattern.match(body, at)
        if found is None:
            raise MalformedLogError(f"{literal[:60]!r} is not an array")
        quoted, plain = found.groups()
        if quoted is not None:
            yield _ESCAPED.sub(r"\1", quoted) if "\\" in quoted else quoted
        else:
            yield None if plain == "NULL" else plain
        at = found.end()
        if at == len(body):
            return
        if body[at] != delimiter:
            raise MalformedLogError(f"{literal[:60]!r} is not an array")
        at += 1


@lru_cache(16)
def _element_pattern(delimiter: str) -> re.Pattern[str]:
    return re.compile(rf'"((?:[^"\\]|\\.)*)"|([^"{{}}\\{re.escape(delimiter)}]+)', re.DOTALL)
