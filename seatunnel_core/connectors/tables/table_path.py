"""Path of a table in a database, and its notation in options."""

import re

TablePath = tuple[str, ...]
"""Name of a table, preceded by its schema if the database has schemas."""

_PART = re.compile(r'\s*(?:"((?:[^"]|"")+)"|`((?:[^`]|``)+)`|([^."`][^.]*?))\s*(?:\.|$)')


def parts_of(written: str) -> tuple[str, ...]:
    """Split the path of a table into names; raise ``ValueError`` if a name or a closing quote is missing.

    A name in double quotes or backticks may contain dots. Quotes have no other meaning.
    """
    parts, at = [], 0
    while at < len(written):
        found = _PART.match(written, at)
        if found is None:
            raise ValueError(f"{written!r} is not a table path: a name or a quote is missing")
        doubled, ticked, plain = found.groups()
        parts.append(doubled.replace('""', '"') if doubled else ticked.replace("``", "`") if ticked else plain)
        at = found.end()
    if not parts or written.rstrip().endswith("."):
        raise ValueError(f"{written!r} is not a table path: a name is missing")
    return tuple(parts)
