"""Partial updates of JSON documents, logged with ``binlog_row_value_options = PARTIAL_JSON``."""

import re
from typing import Any

from seatunnel_core.connectors.mysql_log.errors import MalformedLogError
from seatunnel_core.connectors.mysql_log.fields import Fields
from seatunnel_core.connectors.mysql_log.values.json_document import TreeBuilder, document, tree_text

_REPLACE, _INSERT, _REMOVE = 0, 1, 2

_LEG = re.compile(r'\.(?:"((?:[^"\\]|\\.)*)"|([^.\["\s]+))|\[(\d+)\]', re.DOTALL)
_ESCAPED = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_MEANT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def changed_document(before: bytes, changes: bytes) -> str:
    """Apply changes to a JSON document, and return the result as a string.

    Args:
        before: The document before the update, in MySQL's binary format.
        changes: For each change, the operation, the path, and the new value unless a value is removed.

    Raises:
        MalformedLogError: The changes cannot be applied to the document.
    """
    tree = document(before, TreeBuilder)
    fields = Fields(changes, "the changes of a JSON document")
    while fields.left:
        operation = fields.integer(1)
        path = fields.packed_bytes().decode()
        value = None if operation == _REMOVE else document(fields.packed_bytes(), TreeBuilder)
        try:
            tree = _changed(tree, operation, _legs(path), value)
        except (LookupError, TypeError):
            raise MalformedLogError(f"a change at {path} cannot be applied to the JSON document") from None
    return tree_text(tree)


def _legs(path: str) -> list[str | int]:
    """Return the keys and indexes of a path such as ``$.a[2]."b c"``."""
    legs: list[str | int] = []
    at = 1
    while at < len(path):
        found = _LEG.match(path, at)
        if found is None:
            raise MalformedLogError(f"the path {path!r} of a change to a JSON document cannot be parsed")
        quoted, plain, index = found.groups()
        legs.append(int(index) if index is not None else plain if plain is not None else _plain(quoted))
        at = found.end()
    return legs


def _plain(quoted: str) -> str:
    """Remove the escapes from a quoted key."""
    return _ESCAPED.sub(_meant, quoted)


def _meant(escaped: re.Match[str]) -> str:
    text = escaped[1]
    return chr(int(text[1:], 16)) if len(text) == 5 else _MEANT.get(text, text)


def _require(kind: type, parent: object) -> None:
    if not isinstance(parent, kind):
        raise LookupError


def _changed(tree: Any, operation: int, legs: list[str | int], value: Any) -> Any:
    """Apply a change to a document, and return the document.

    Raises: LookupError, TypeError: The path does not exist.
    """
    if not legs:
        if operation != _REPLACE:
            raise LookupError
        return value
    *way, last = legs
    parent: Any = tree
    for leg in way:
        parent = parent[leg]
    _require(dict if isinstance(last, str) else list, parent)
    if operation == _INSERT and isinstance(last, int):
        parent.insert(last, value)
        return tree
    if operation != _INSERT:
        parent[last]  # The path must exist.
    if operation == _REMOVE:
        del parent[last]
    elif operation in (_REPLACE, _INSERT):
        parent[last] = value
    else:
        raise LookupError
    return tree
