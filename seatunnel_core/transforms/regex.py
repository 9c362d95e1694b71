"""Regular expressions for whole columns, evaluated by Arrow's engine, RE2."""

import itertools
import re
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_core.connector_api.errors import UsageError

_ADVICE = "look-around, backreferences and possessive quantifiers are not supported; use the Python transform"
_AROUND = ("", "a", " ", "\n")
"""Neighbours of a position that patterns can distinguish: string boundary, letter, space and line end."""


def check_pattern(option: str, pattern: str) -> None:
    """Raise ``UsageError`` if a string is not a regular expression."""
    try:
        pc.match_substring_regex(pa.array([""]), pattern=pattern)
    except pa.ArrowInvalid as error:
        problem = str(error).removeprefix("Invalid regular expression: ")
        raise UsageError(f"option '{option}': {pattern!r} is not a regular expression: {problem}; {_ADVICE}") from None


def matches_nothing(pattern: str) -> bool:
    """Return True if a valid pattern can match the empty string between two characters."""
    for before, after in itertools.product(_AROUND, repeat=2):
        whole = rf"\A{before}(?:{pattern}){after}\z"
        if pc.match_substring_regex(pa.array([before + after]), pattern=whole)[0].as_py():
            return True
    return False


def first_match(option: str, pattern: str, replacement: str) -> tuple[str, str]:
    r"""Return a pattern and a replacement that change only the first match in a value.

    ``replacement`` is a result of ``rewritten``. Arrow's ``max_replacements`` is not used, because it matches again
    without the text around a match, and fails for ``\bx``.

    Raises:
        UsageError: The replacement refers to a group after the seventh.
    """
    far = re.search(r"(?<!\\)(?:\\\\)*\\([89])", replacement)
    if far:
        raise UsageError(f"option '{option}': with replace_first only the groups $0 to $7 are allowed, not ${far[1]}")
    moved = re.sub(
        r"\\([0-7\\])", lambda found: found[0] if found[1] == "\\" else rf"\{int(found[1]) + 2}", replacement
    )
    return rf"\A((?s:.*?))({pattern})", rf"\1{moved}"


def rewritten(option: str, pattern: str, replacement: str) -> str:
    r"""Convert a Java replacement string (``$1``, ``${name}``, ``\$``) to RE2's syntax (``\1``).

    Raises:
        UsageError: The replacement is invalid, or refers to a group that the pattern does not have.
    """
    groups, names = _groups(pattern)
    text, at = "", 0
    while at < len(replacement):
        found = _PIECE.match(replacement, at)
        if found is None:
            raise UsageError(
                f"option '{option}': $ in {replacement!r} must be followed by a group number or {{name}}; "
                r"use \$ for the character itself"
            )
        text += _piece(option, found, groups, names)
        at = found.end()
    return text


_PIECE = re.compile(r"\\(?P<escaped>.)|\$(?P<number>[0-9])|\$\{(?P<name>\w+)\}|(?P<text>[^\\$])", re.DOTALL)


def _piece(option: str, found: "re.Match[str]", groups: int, names: Mapping[str, int]) -> str:
    literal = found["escaped"] or found["text"]
    if literal is not None:
        return literal.replace("\\", r"\\")
    number = int(found["number"]) if found["number"] else names.get(found["name"], groups + 1)
    if number > groups:
        raise UsageError(f"option '{option}': {found[0]} refers to a group that the pattern does not have")
    return rf"\{number}"


def _groups(pattern: str) -> tuple[int, Mapping[str, int]]:
    """Return the number of groups in a valid pattern, and the numbers of the named groups."""
    names: dict[str, int] = {}
    count, in_class, at = 0, False, 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            at += 1
        elif in_class:
            in_class = char != "]"
        elif char == "[":
            in_class = True
            at += len(re.match(r"\^?\]?", pattern[at + 1 :])[0])  # type: ignore[index] # it always matches
        elif char == "(":
            named = re.match(r"\(\?P?<(\w+)>", pattern[at:])
            if named or not pattern.startswith("(?", at):
                count += 1
            if named:
                names[named[1]] = count
        at += 1
    return count, names
