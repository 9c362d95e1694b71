"""Tokenizer for HOCON, and conversion of unquoted values."""

import re
from collections.abc import Callable, Iterable

_SPACES = r" \t\r\v\f\x1c-\x1f\x85\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"

# Only sets are possessive: for groups with alternatives, Python before 3.11.5 matches too little (gh-106052).
_QUOTED = r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*"'
_TOKEN = re.compile(
    rf"""
      (?P<space>[{_SPACES}]+)
    | (?P<newline>\n)[{_SPACES}\n]*+
    | (?P<comment>(?://|\#)[^\n]*)
    | (?P<triple>\"\"\".*?\"\"\"\"*)
    | (?P<quoted>(?!\"\"\"){_QUOTED})
    | (?P<substitution>\$\{{[^"{{}}\n]*+(?:{_QUOTED}[^"{{}}\n]*+)*\}})
    | (?P<mark>\+=|[{{}}\[\]:=,])[{_SPACES}]*+
    | (?P<number>-?[0-9][0-9.eE-]*\+[0-9.eE+-]*)
    | (?P<text>(?:[^{_SPACES}\n$"{{}}\[\]:=,+\#`^?!@*&\\/]|/(?!/))+)
    | (?P<bad>.)
    """,
    re.VERBOSE | re.DOTALL,
)
NUMBER = re.compile(r"(-?[0-9]+(\.[0-9]*)?|-\.[0-9]+)([eE][+-]?[0-9]+)?")
ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


Token = tuple[str, str, int]
"""Kind (a named group of the regular expression above, or ``end``), text and offset."""


Matches = Iterable[re.Match[str]]


def tokens(
    text: str, base: int, *, comments: bool = False, counted: Callable[[Matches], Matches] = iter
) -> list[Token]:
    """Return the tokens of a file that starts at the offset ``base``. ``counted`` checks the number of matches."""
    found = [
        (kind, match[kind], base + match.start())
        for match in counted(_TOKEN.finditer(text))
        if (kind := match.lastgroup or "") != "comment" or comments
    ]
    found.append(("end", "", base + len(text)))
    return found


def typed(text: str) -> object:
    """Return the value of an unquoted string. As in Lightbend's parser, an integer beyond 64 bits remains a string."""
    if text in ("true", "false"):
        return text == "true"
    if text == "null":
        return None
    if NUMBER.fullmatch(text):
        if text.lstrip("-").isdigit():
            number = int(text) if len(text) < 21 else 2**63
            return number if -(2**63) <= number < 2**63 else text
        return float(text)
    return text
