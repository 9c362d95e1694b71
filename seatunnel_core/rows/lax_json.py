"""Lax JSON as accepted by json-smart, SeaTunnel's parser for JSON paths, including output of Python and JavaScript.

In addition to JSON, it accepts unquoted names and strings, single-quoted strings, and superfluous commas. A word other
than a number, ``true``, ``false`` or ``null`` is a string, including ``True`` and ``None``. Text after the value and
words outside of objects and arrays are errors.
"""

import json
import re
from typing import Any

from seatunnel_core.rows.json_document import Number, parsed
from seatunnel_core.rows.repeated_keys import object_of_pairs
from seatunnel_core.rows.written_decimal import whole_number


def lax(text: str | bytes) -> Any:
    """Parse a string as strict JSON or, if that fails, as lax JSON. Raise a ValueError with the position."""
    try:
        return parsed(text)
    except UnicodeDecodeError:
        raise
    except ValueError as error:
        written = (text if isinstance(text, str) else text.decode("utf-8-sig")).strip()
        if written[:1] not in ("{", "[") or str(error).startswith("Extra data"):
            raise
    return _Reader(written).whole()


_DEEPEST = 400
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")
_WORDS = {"true": True, "false": False, "null": None}
_QUOTED = {quote: re.compile(rf"{quote}((?:[^{quote}\\]|\\.)*){quote}", re.DOTALL) for quote in "\"'"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_BARE = {ends: re.compile(rf"[^{re.escape(ends)}]*") for ends in (":", ",}", ",]")}
"""Patterns for unquoted words, keyed by the characters that end the word."""


class _Reader:
    """Parser of a string from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.deep = 0

    def whole(self) -> Any:
        value = self._value(",]")
        self._blanks()
        if self.at < len(self.text):
            raise self._error("the end")
        return value

    def _value(self, ends: str) -> Any:
        self._blanks()
        sign = self.text[self.at : self.at + 1]
        if sign and sign in "{[":
            self.deep += 1
            if self.deep > _DEEPEST:
                raise ValueError("nested too deeply")
            found = self._object() if sign == "{" else self._array()
            self.deep -= 1
            return found
        if sign in _QUOTED:
            return self._quoted(sign)
        return _meant(self._bare(ends, "a value"))

    def _object(self) -> dict[str, Any]:
        found: list[tuple[str, Any]] = []
        self.at += 1
        while not self._closed("}"):
            sign = self.text[self.at : self.at + 1]
            name = self._quoted(sign) if sign in _QUOTED else self._bare(":", "a name")
            self._blanks()
            if not self.text.startswith(":", self.at):
                raise self._error("a colon")
            self.at += 1
            found.append((name, self._value(",}")))
            self._behind("}")
        return object_of_pairs(found)

    def _array(self) -> list[Any]:
        found = []
        self.at += 1
        while not self._closed("]"):
            found.append(self._value(",]"))
            self._behind("]")
        return found

    def _closed(self, end: str) -> bool:
        """Skip whitespace and commas, and the closing bracket if it follows. Return True if it does."""
        while True:
            self._blanks()
            if not self.text.startswith(",", self.at):
                break
            self.at += 1
        if self.text.startswith(end, self.at):
            self.at += 1
            return True
        if self.at >= len(self.text):
            raise self._error(end)
        return False

    def _behind(self, end: str) -> None:
        self._blanks()
        if self.text[self.at : self.at + 1] not in (",", end):
            raise self._error(f"a comma or {end}")

    def _quoted(self, quote: str) -> str:
        found = _QUOTED[quote].match(self.text, self.at)
        if found is None:
            raise self._error(f"a string that ends with {quote}")
        self.at = found.end()
        return _ESCAPE.sub(_unescaped, found[1])

    def _bare(self, ends: str, wanted: str) -> str:
        found = _BARE[ends].match(self.text, self.at)
        assert found is not None
        word = found[0].strip()
        if not word or any(sign in word for sign in "{}[]"):
            raise self._error(wanted)
        self.at = found.end()
        return word

    def _blanks(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def _error(self, wanted: str) -> ValueError:
        found = repr(self.text[self.at : self.at + 10]) if self.at < len(self.text) else "the end"
        return ValueError(f"expected {wanted} at character {self.at + 1}, found {found}")


def _unescaped(found: re.Match[str]) -> str:
    sign = found[1]
    if sign in '"\\/bfnrt' or len(sign) > 1:
        return str(json.loads(f'"\\{sign}"'))
    return sign


def _meant(word: str) -> Any:
    """Return the value of an unquoted word."""
    number = _NUMBER.fullmatch(word)
    if number is None:
        return _WORDS.get(word, word)
    return Number(word) if number[1] or number[2] else whole_number(word)
