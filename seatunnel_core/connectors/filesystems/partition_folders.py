"""What the names of folders say of the rows in them: ``year=2013/month=1``, written by sinks and read by sources.

A value that a folder's name cannot hold is escaped, ``%2F`` for a slash. So is what would mean something else: a text
that looks like null, and a ``.`` or ``_`` that would hide the folder from Hadoop's tools.
"""

import re
from urllib.parse import quote, unquote

NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""The folder value of rows whose partition column is null, as Hive writes it."""

_SAFE = " !$&'()+,;@~-._"


def folder_value(value: str | None, *, begins: bool = False) -> str:
    """A value as part of a folder's name; nothing in it can lead out of the folder, or hide it.

    Args:
        begins: whether the name begins with it.
    """
    if value is None:
        return NULL_PARTITION
    escaped = quote(value, safe=_SAFE)
    if escaped.startswith(".") or value == NULL_PARTITION or (begins and escaped.startswith("_")):
        return f"%{ord(escaped[0]):02X}{escaped[1:]}"
    return escaped


def partitions(path: str) -> dict[str, str | None]:
    """The ``key=value`` folders of a path, outermost first: ``…/year=2013/month=1/a.csv`` gives two."""
    found = (folder.split("=", 1) for folder in path.split("/")[:-1] if is_partition(folder))
    return {_unescaped(key): None if value == NULL_PARTITION else _unescaped(value) for key, value in found}


def is_partition(folder: str) -> bool:
    return re.fullmatch("[^=]+=.*", folder, re.DOTALL) is not None


def _unescaped(text: str) -> str:
    """The text itself where it is no UTF-8: another program meant the signs as they are."""
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        return text
