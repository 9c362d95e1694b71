"""JSON Schemas for the values of option types, for editors.

They are as lenient as the parsers: numbers and booleans may be strings, keywords are case-insensitive, and any string
may contain variables such as ``${name}``.
"""

import re
from collections.abc import Mapping
from typing import Any

Shape = Mapping[str, Any]

_VARIABLE = r"\$\{"

TEXT: Shape = {"type": ["string", "number", "boolean"]}
NUMBER: Shape = {"anyOf": [{"type": "number"}, {"type": "string", "pattern": rf"^\s*[+-]?[0-9.]|{_VARIABLE}"}]}
TRUTH: Shape = {
    "anyOf": [
        {"type": "boolean"},
        {"type": "string", "pattern": rf"^\s*([Tt]rue|TRUE|[Yy]es|[Oo]n|[Ff]alse|FALSE|[Nn]o|[Oo]ff)\s*$|{_VARIABLE}"},
    ]
}
MEASURED: Shape = {
    "anyOf": [
        {"type": "integer", "minimum": 0},
        {"type": "string", "pattern": rf"^\s*[0-9]+(\.[0-9]+)? *[A-Za-z]*\s*$|{_VARIABLE}"},
    ]
}
"""Schema of an integer, or a number with a unit."""

BLOCK: Shape = {"type": "object"}


def whole(low: int | None = None, high: int | None = None) -> Shape:
    """Return the schema of an integer with inclusive bounds."""
    bounds = {"minimum": low, "maximum": high}
    number = {"type": "integer"} | {key: bound for key, bound in bounds.items() if bound is not None}
    return {"anyOf": [number, {"type": "string", "pattern": rf"^\s*[+-]?[0-9]+\s*$|{_VARIABLE}"}]}


def words(*known: str) -> Shape:
    """Return the schema of a keyword. Case is ignored; editors suggest the keywords as given here."""
    pattern = f"{'|'.join(map(any_case, known))}|{_VARIABLE}"
    flags = [word.lower() == "true" for word in known if word.lower() in ("true", "false")]
    return {"anyOf": [{"enum": [*known, *flags]}, {"type": "string", "pattern": pattern}]}


def listed(of: Shape) -> Shape:
    """Return the schema of a list, a single value, or a comma-separated string."""
    return {"anyOf": [{"type": "array", "items": dict(of)}, dict(of), {"type": "string"}]}


def any_case(word: str) -> str:
    """Return a pattern that matches a keyword in any case, because JSON Schema has no flag for this."""
    signs = (f"[{sign.upper()}{sign.lower()}]" if sign.isalpha() else re.escape(sign) for sign in word)
    return f"^{''.join(signs)}$"
