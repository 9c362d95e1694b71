"""Partitions in the names of folders: ``year=2013/month=1``, written by sinks and read by sources.

Characters that the name of a folder cannot hold are escaped, ``%2F`` for a slash. So is what would mean something else:
a text that looks like null, and a ``.`` or ``_`` that would hide the folder from Hadoop's tools.
"""

import re
from urllib.parse import quote, unquote

NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""The folder value of rows whose partition column is null, as Hive writes it."""

_SAFE = " !$&'()+,;@~-._"


def folder_value(value: str | None, *, begins: bool = False) -> str:
    """Return a value as part of a folder's name, escaped so that it neither leads out of the folder nor hides it.

    Args:
        value: the value as text, ``None`` for null.
        begins: whether the name begins with it.
    """
    if value is None:
        return NULL_PARTITION
    escaped = quote(value, safe=_SAFE)
    if escaped.startswith(".") or value == NULL_PARTITION or (begins and escaped.startswith("_")):
        return f"%{ord(escaped[0]):02X}{escaped[1:]}"
    return escaped


def partitions(path: str) -> dict[str, str | None]:
    """Return the ``key=value`` folders of a path, outermost first: ``…/year=2013/month=1/a.csv`` has two."""
    found = (folder.split("=", 1) for folder in path.split("/")[:-1] if is_partition(folder))
    return {_unescaped(key): None if value == NULL_PARTITION else _unescaped(value) for key, value in found}


def is_partition(folder: str) -> bool:
    """Return whether the name of a folder has the form ``key=value``."""
    return re.fullmatch("[^=]+=.*", folder, re.DOTALL) is not None


def _unescaped(text: str) -> str:
    """Return the unescaped text, or the text itself if that is no UTF-8: another program wrote the signs literally."""
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        return text
