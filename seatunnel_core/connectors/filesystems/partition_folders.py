"""Partition folders: ``year=2013/month=1``, written by sinks and read by sources.

Characters that a folder name cannot contain are escaped, for example ``%2F`` for a slash. Ambiguous values are also
escaped: a string that looks like null, and a leading ``.`` or ``_``, which would hide the folder from Hadoop's tools.
"""

import re
from urllib.parse import quote, unquote

NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""Value in a folder name that stands for null, as in Hive."""

_SAFE = " !$&'()+,;@~-._"


def folder_value(value: str | None, *, begins: bool = False) -> str:
    """Return a value, or ``None`` for null, as part of a folder name.

    It is escaped so that it can neither leave the parent folder nor hide the folder. ``begins`` is True if the folder
    name starts with the value.
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
    """Return True if the name of a folder has the form ``key=value``."""
    return re.fullmatch("[^=]+=.*", folder, re.DOTALL) is not None


def _unescaped(text: str) -> str:
    """Return the unescaped string, or the string itself if the result would not be UTF-8."""
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        return text
