r"""The option ``field_delimiter`` for reading: a regular expression, as in SeaTunnel.

Most delimiters are literal strings, possibly escaped: ``;``, ``\\|``, ``[|]``, ``\\Q||\\E``. An expression that would
split at every character, such as ``|`` by itself, or that is invalid, such as ``*``, is taken literally.
"""

import re

from seatunnel_core.connector_api.errors import SourceError

_SIGN = re.compile(
    r"\\x(?P<x>[0-9a-fA-F]{2})|\\u(?P<u>[0-9a-fA-F]{4})|\\0(?P<o>[0-7]{1,3})|\\(?P<e>[^\w\s])"
    r"|\[(?P<s>[^\\\]^])\]|(?P<c>[^\\.^$|?*+()\[{])"
)
_WRITTEN = r"[\\\[(]"
"""Characters that mark a delimiter as a regular expression."""


def text_or_pattern(written: str) -> tuple[str, str]:
    """Return the delimiter and its regular expression, which is empty if the delimiter is a literal string."""
    for escaped, meant in (("\\t", "\t"), ("\\001", "\x01"), ("\\u0001", "\x01")):
        written = written.replace(escaped, meant)
    expression = re.sub(r"\\Q(.*?)\\E", lambda found: re.escape(found[1]), written)
    signs = list(_SIGN.finditer(expression))
    if "".join(sign[0] for sign in signs) == expression:
        return "".join(map(_said, signs)), ""
    return (written, expression) if _is_meant(expression) else (written, "")


def _said(sign: re.Match[str]) -> str:
    kind, text = next((kind, text) for kind, text in sign.groupdict().items() if text is not None)
    return chr(int(text, 8 if kind == "o" else 16)) if kind in "xuo" else text


def _is_meant(expression: str) -> bool:
    """Return True if the value is a regular expression rather than a string with special characters."""
    plainly = re.search(_WRITTEN, expression) is not None
    try:
        compiled = re.compile(expression, re.ASCII)
    except re.error as error:
        if plainly:
            raise SourceError(
                f"field_delimiter {expression!r} is not a supported regular expression: {error}"
            ) from None
        return False
    if compiled.match("") is not None:
        if plainly:
            raise SourceError(
                f"field_delimiter {expression!r} is a regular expression that also matches the empty string"
            )
        return False
    alternatives = set(expression.split("|"))
    return plainly or not (re.search(r"^\^|\$$|^\.+$", expression) or len(alternatives) < expression.count("|") + 1)
