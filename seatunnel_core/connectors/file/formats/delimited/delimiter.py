"""``field_delimiter`` of text that is read: a regular expression, as SeaTunnel takes it.

Most are one text, written as it is or escaped: ``;``, ``\\|``, ``[|]``, ``\\Q||\\E``. What would cut at every sign, as
``|`` by itself, or is no expression, as ``*``, nobody can mean so: that is the text itself.
"""

import re

from seatunnel_core.errors import SourceError

_SIGN = re.compile(
    r"\\x(?P<x>[0-9a-fA-F]{2})|\\u(?P<u>[0-9a-fA-F]{4})|\\0(?P<o>[0-7]{1,3})|\\(?P<e>[^\w\s])"
    r"|\[(?P<s>[^\\\]^])\]|(?P<c>[^\\.^$|?*+()\[{])"
)
_WRITTEN = r"[\\\[(]"
"""Signs with which nobody writes a text that is none."""


def text_or_pattern(written: str) -> tuple[str, str]:
    """The delimiter, and the expression where it is no single text; else an empty one.

    Raises:
        SourceError: it is an expression that cannot be understood, or matches nothing.
    """
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
    """Whether it is an expression rather than a text with signs of one."""
    plainly = re.search(_WRITTEN, expression) is not None
    try:
        compiled = re.compile(expression, re.ASCII)
    except re.error as error:
        if plainly:
            raise SourceError(
                f"field_delimiter {expression!r} is a regular expression that is not understood: {error}"
            ) from None
        return False
    if compiled.match("") is not None:
        if plainly:
            raise SourceError(f"field_delimiter {expression!r} is a regular expression that matches nothing, too")
        return False
    alternatives = set(expression.split("|"))
    return plainly or not (re.search(r"^\^|\$$|^\.+$", expression) or len(alternatives) < expression.count("|") + 1)
