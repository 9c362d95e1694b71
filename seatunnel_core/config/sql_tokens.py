"""Statements of a SQL file as sqlglot tokens."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, NoReturn

from attrs import field, frozen

from seatunnel_core.config.document import Position
from seatunnel_core.config.problem import Problem
from seatunnel_core.errors import ConfigError
from seatunnel_core.installing import install_command

_NAME = re.compile(r"\w[\w$-]*")
_QUOTED = {"STRING": "a string", "IDENTIFIER": "a quoted name"}
"""Names of token types in messages; they differ from all keywords."""


@frozen
class SqlText:
    """Text of a SQL file, with positions for messages."""

    text: str = field(repr=False)
    name: str

    def at(self, offset: int) -> Position:
        """Return the position at an offset."""
        line, column = self.text.count("\n", 0, offset) + 1, offset - self.text.rfind("\n", 0, offset)
        return Position(self.name, line, column)

    def refuse(self, message: str, offset: int, hint: str = "") -> NoReturn:
        """Raise ``ConfigError`` with a message and an offset."""
        raise ConfigError(str(Problem(message, self.at(offset), hint)))

    def padded(self, begin: int, inner: str, before: str = "") -> str:
        """Return ``inner``, which starts at ``begin``, padded so that its positions match the positions in the file."""
        place = self.at(begin)
        return "\n" * (place.line - 1) + before.rjust(place.column - 1) + inner


def statements(rest: str, text: SqlText) -> Iterator["Statement"]:
    """Return the statements in ``rest``, the file with spaces in place of the comments that were already read."""
    tokens: list[_Token] = []
    for token in _tokens(rest, text):
        if token.kind != "SEMICOLON":
            tokens.append(token)
        elif tokens:
            yield Statement(tokens, text)
            tokens = []
    if tokens:
        yield Statement(tokens, text)


@frozen
class _Token:
    kind: str
    """Token type in sqlglot."""

    text: str
    """Text of the token, without the quotes of a string or a quoted name."""

    start: int
    end: int
    """Offset after the last character of the token."""

    @property
    def is_name(self) -> bool:
        return self.kind == "IDENTIFIER" or (self.kind != "STRING" and _NAME.fullmatch(self.text) is not None)


def _tokens(rest: str, text: SqlText) -> Iterator[_Token]:
    try:
        import sqlglot
        from sqlglot.errors import SqlglotError
    except ImportError as error:
        raise ConfigError(f"{text.name}: a job in SQL needs sqlglot: {install_command('sql')}") from error

    class Names(sqlglot.Tokenizer):
        IDENTIFIERS: ClassVar[list[str | tuple[str, str]]] = ["`", '"']

    try:
        for token in Names().tokenize(rest):
            yield _Token(token.token_type.name, str(token.text), token.start, token.end + 1)
    except SqlglotError as error:
        if isinstance(error.__context__, MemoryError):
            raise error.__context__ from None
        raise ConfigError(f"{text.name}: this is not SQL: {str(error).splitlines()[0]}") from error


class Statement:
    """Cursor over the tokens of one statement."""

    def __init__(self, tokens: Sequence[_Token], text: SqlText) -> None:
        self._tokens = tokens
        self._text = text
        self._next = 0
        self.query_text = ""
        self.query_offset = 0
        self.takes_all = False
        """True if the query returns its table unchanged."""

    @property
    def offset(self) -> int:
        """Offset of the next token, or of the last character if no tokens are left."""
        return self._tokens[self._next].start if self._left else self._tokens[-1].end - 1

    @property
    def _left(self) -> bool:
        return self._next < len(self._tokens)

    def word(self) -> str:
        """Return the next token in capitals, or the name of its type if it is a string or a quoted name."""
        if not self._left:
            return "the end"
        token = self._tokens[self._next]
        return _QUOTED.get(token.kind) or token.text.upper()

    def takes(self, *words: str) -> bool:
        """Consume these keywords if they follow, and return True if they did."""
        begin = self._next
        for word in words:
            if self.word() != word:
                self._next = begin
                return False
            self._next += 1
        return True

    def expect(self, word: str, said: str = "") -> None:
        """Consume this keyword, or raise ``ConfigError``. ``said`` replaces the keyword in the message."""
        if not self.takes(word):
            self._refuse(said or repr(word))

    def end(self) -> None:
        """Raise ``ConfigError`` unless all tokens were consumed."""
        if self._left:
            self._refuse("a semicolon")

    def name(self, what: str) -> tuple[str, int]:
        """Read a name, possibly in double quotes or backticks, and return it with its offset."""
        return self._token(what, lambda token: token.is_name)

    def string(self, what: str) -> tuple[str, int]:
        """Read a string in single quotes, and return it with its offset; ``what`` describes it in the message."""
        return self._token(what, lambda token: token.kind == "STRING")

    def query(self) -> tuple[str, int]:
        """Read the remaining tokens as ``SELECT … FROM table …`` or ``SELECT table``; return the table and offset."""
        self.query_offset = self.offset
        self.query_text = self._text.text[self.query_offset : self._tokens[-1].end]
        self.expect("SELECT")
        begin, count = self._next, len(self._tokens) - self._next
        if count > 1:
            self._to_from()
        self.takes_all = count == 1 or (count == 3 and self._tokens[begin].text == "*")
        return self.name("the name of a table")

    def _to_from(self) -> None:
        """Move to the FROM of the query. Skip a FROM in parentheses, as in EXTRACT."""
        depth = 0
        while depth or not self.takes("FROM"):
            depth += {"(": 1, ")": -1}.get(self.word(), 0)
            self._next += 1
            if not self._left:
                self._refuse("FROM and a table")

    def _token(self, what: str, fits: Callable[[_Token], bool]) -> tuple[str, int]:
        if not self._left or not fits(self._tokens[self._next]):
            self._refuse(what)
        token = self._tokens[self._next]
        self._next += 1
        return token.text, token.start

    def _refuse(self, expected: str) -> NoReturn:
        self._text.refuse(f"{expected} is expected here, not {self.word()}", self.offset)
