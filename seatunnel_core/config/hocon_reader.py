"""Reader for the tokens of a HOCON file: keys, quoted strings, and errors with positions."""

import re
from collections.abc import Callable
from typing import NoReturn

from seatunnel_core.config.hocon_tokens import ESCAPE, ESCAPES, Token
from seatunnel_core.config.hocon_tree import Texts
from seatunnel_core.config.problem import Problem
from seatunnel_core.errors import ConfigError


class TokenReader:
    """Cursor over the tokens of a file."""

    def __init__(self, tokens: list[Token], texts: Texts) -> None:
        self.tokens = tokens
        self.texts = texts
        self.at = 0
        """Index of the next token."""

    def path(self, *, stop: str) -> list[tuple[str, int]]:
        """Read a dotted key. Only unquoted parts are split at dots; inner spaces belong to the key."""
        self.skip()
        start = self.tokens[self.at][2]
        elements: list[tuple[str, int]] = []
        written, began, quoted, pending = "", start, False, ""
        while True:
            kind, text, offset = self.tokens[self.at]
            if kind == "space":
                pending += text
            elif kind in ("quoted", "triple"):
                content = text[3:-3] if kind == "triple" else self.unescaped(text, offset)
                written, quoted, pending = written + pending + content, True, ""
            elif kind in ("text", "number"):
                place = offset
                for number, piece in enumerate(text.split(".")):
                    if number:
                        elements.append(self._element(written, began, quoted, place - 1))
                        written, began, quoted, pending = "", place, False, ""
                    if piece:
                        began = began if written or quoted else place
                        written, pending = written + pending + piece, ""
                    place += len(piece) + 1
            else:
                break
            self.at += 1
        kind, text, offset = self.tokens[self.at]
        if not elements and not written and not quoted:
            self.unexpected(text, offset, "a key")
        elements.append(self._element(written, began, quoted, offset))
        if stop == "key" and kind in ("bad", "substitution"):
            self.unexpected(text, offset)
        return elements

    def _element(self, written: str, began: int, quoted: bool, offset: int) -> tuple[str, int]:
        if not written and not quoted:
            self.fail("a dot in a key must separate two names, but one name is missing", offset)
        return written, began

    def skip(self) -> None:
        """Skip spaces and line ends."""
        while self.tokens[self.at][0] in ("space", "newline"):
            self.at += 1

    def next_significant(self) -> tuple[str, str, int]:
        """Skip spaces and line ends, and return the next token."""
        self.skip()
        return self.tokens[self.at]

    def unescaped(self, token: str, offset: int) -> str:
        """Return the content of a quoted string."""
        inner = token[1:-1]
        if "\\" not in inner:
            return inner

        def character(match: re.Match[str]) -> str:
            if match[1]:
                return chr(int(match[1], 16))
            if match[2] not in ESCAPES:
                self.fail(
                    f"{match[0]!r} is an invalid escape in a quoted string: use \\\\ for a backslash, or triple quotes",
                    offset + 1 + match.start(),
                )
            return ESCAPES[match[2]]

        text = ESCAPE.sub(character, inner)
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            return self.fail("an unpaired surrogate is not a valid character", offset)

    def unexpected(self, text: str, offset: int, wanted: str = "") -> NoReturn:
        """Raise ``ConfigError`` for invalid text at an offset; ``wanted`` describes what was expected."""
        if text.startswith('"'):
            self.fail("this string has no closing quote", offset)
        if text == "$":
            self.fail("'$' starts a variable: write ${name}, or quote the string", offset)
        found = repr(text) if text.strip() else "the end of the line" if text else "the end of the file"
        if wanted:
            self.fail(f"expected {wanted}, found {found}", offset)
        self.fail(f"{found} is not allowed in an unquoted string: quote the string", offset)

    def failing(self, offset: int) -> Callable[[str], NoReturn]:
        """Return a function that raises ``ConfigError`` with a given message at a fixed offset."""

        def fail(message: str) -> NoReturn:
            self.fail(message, offset)

        return fail

    def fail(self, message: str, offset: int) -> NoReturn:
        """Raise ``ConfigError`` with a message and an offset."""
        raise ConfigError(str(Problem(message, self.texts.position(offset))))


def dotted(path: list[tuple[str, int]]) -> str:
    """Return the keys of a path joined with dots."""
    return ".".join(key for key, _ in path)
