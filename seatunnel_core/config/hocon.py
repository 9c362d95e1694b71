"""Parser for HOCON according to Lightbend's specification; JSON is a subset.

Existing libraries merge repeated plugins in ``source``, ``transform`` and ``sink``, which must remain separate entries
in order, and do not provide positions for messages. This parser runs in linear time; ``substitution.py`` resolves
references.

Not supported: ``include`` of URLs and class paths, and of files outside the job's folder.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from attrs import define, field

from seatunnel_core.config.hocon_reader import TokenReader, dotted
from seatunnel_core.config.hocon_tokens import NUMBER, Token, tokens, typed
from seatunnel_core.config.hocon_tree import (
    SPACE,
    Append,
    Array,
    Concatenation,
    Literal,
    Node,
    Object,
    Parsed,
    Plugins,
    Substitution,
    Texts,
)
from seatunnel_core.config.problem import Problems

MAX_DEPTH = 64
"""Maximum nesting depth; real jobs have fewer than ten levels."""

_MAX_INCLUDES = 100
_REPEATED = ("source", "transform", "sink")


def parse_hocon(text: str, name: str, problems: Problems, folder: Path | None = None) -> Parsed:
    """Parse the content of a file, or raise ``ConfigError``. Without ``folder``, ``include`` is rejected."""
    texts = Texts()
    includes = _Includes(texts, problems, folder.resolve() if folder else None)
    root = _Parser(includes.tokens(name, text), includes, ()).root()
    return Parsed(root, texts)


@define(eq=False)
class _Includes:
    """Files that a job file includes; all must be in one folder."""

    texts: Texts
    problems: Problems
    folder: Path | None
    open: list[Path] = field(factory=list)
    count: int = 0

    def tokens(self, name: str, text: str) -> list[Token]:
        """Return the tokens of a file and count them against the limit."""
        base, budget = self.texts.add(name, text), self.problems.budget
        return tokens(
            text,
            base,
            counted=lambda found: budget.tokens(found, lambda match: self.texts.position(base + match.start())),
        )

    def find(self, name: str, fail: Callable[[str], NoReturn]) -> Path | None:
        if self.folder is None:
            fail("include is only supported in files")
        base = self.open[-1].parent if self.open else self.folder
        for candidate in (name, f"{name}.conf", f"{name}.json"):
            try:
                path = (base / candidate).resolve()
                if not path.is_relative_to(self.folder):
                    fail(f"include reads only files inside {self.folder.name or self.folder}/, not {name!r}")
                if path.is_file():
                    return path
            except (OSError, ValueError, RuntimeError) as error:
                fail(f"cannot include {name!r}: {error}")
        return None

    def parse(self, path: Path, prefix: tuple[str, ...], *, repeated: bool, fail: Callable[[str], NoReturn]) -> "Node":
        self.count += 1
        if path in self.open or self.count > _MAX_INCLUDES:
            fail(f"{path.name} includes itself")
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            fail(f"cannot read the included file {path.name}: {error}")
        self.open.append(path)
        parser = _Parser(self.tokens(str(path), text), self, prefix)
        found: Node = parser.repeated_root() if repeated else parser.root()
        self.open.pop()
        return found


class _Parser(TokenReader):
    """Recursive-descent parser of the tokens of one file."""

    def __init__(self, words: list[Token], includes: _Includes, prefix: tuple[str, ...], *, depth: int = 0) -> None:
        super().__init__(words, includes.texts)
        self._includes = includes
        self._prefix = prefix
        self._depth = depth
        self._place: tuple[str, ...] = ()
        """Keys of the enclosing blocks: the path at which an included file is resolved."""

    def root(self) -> Object:
        self.skip()
        kind, text, offset = self.tokens[self.at]
        if kind == "mark" and text == "[":
            self.fail("a job file is a block of keys, not a list", offset)
        braced = kind == "mark" and text == "{"
        self.at += braced
        root = Object(offset)
        self._fields(root, top=not self._prefix, closing="}" if braced else "", opened=offset)
        if braced:
            self.skip()
        kind, text, offset = self.tokens[self.at]
        if kind != "end":
            self.fail(f"expected the end of the file, found {text!r}", offset)
        return root

    def repeated_root(self) -> Plugins:
        """Parse a file that is included directly in ``source``, ``transform`` or ``sink``."""
        self.skip()
        found = Plugins([], self.tokens[self.at][2])
        self._plugin_fields(found, closing="", opened=found.offset)
        return found

    # -- objects ------------------------------------------------------------------------------------------------------

    def _fields(self, target: Object, *, top: bool, closing: str, opened: int) -> None:
        """Parse keys and values into ``target``, up to the closing brace or the end of the file."""
        while self._more(closing, opened):
            if self._is_include():
                self._include(target, top=top)
            else:
                path = self.path(stop="key")
                self._assign(target, path, top=top)
            self._separator(closing)

    def _assign(self, target: Object, path: list[tuple[str, int]], *, top: bool) -> None:
        self._includes.problems.budget.key(lambda: self.texts.position(path[0][1]))
        kind, mark, offset = self.next_significant()
        if kind == "mark" and mark in (":", "=", "+="):
            self.at += 1
            self.next_significant()
        elif not (kind == "mark" and mark == "{"):
            found = "the end of the file" if kind == "end" else repr(mark)
            self.fail(f"expected '=' or '{{' after the key {dotted(path)!r}, found {found}", offset)
        if self._depth + len(path) > MAX_DEPTH:
            self.fail(f"nested more than {MAX_DEPTH} levels deep", path[0][1])
        if top and len(path) == 1 and path[0][0] in _REPEATED and self.tokens[self.at][:2] == ("mark", "{"):
            target.set(path, self._plugins(self.tokens[self.at][2]))
            return
        self._depth += len(path) - 1
        outer, self._place = self._place, (*self._place, *(key for key, _ in path))
        value = self._value()
        self._place = outer
        self._depth -= len(path) - 1
        target.set(path, Append(value, path[0][1]) if mark == "+=" else value)

    def _plugins(self, opened: int) -> Plugins:
        self.at += 1
        found = Plugins([], opened)
        self._plugin_fields(found, closing="}", opened=opened)
        return found

    def _plugin_fields(self, found: Plugins, *, closing: str, opened: int) -> None:
        while self._more(closing, opened):
            if self._is_include():
                path, _ = self._included()
                if path is not None:
                    offset = self.tokens[self.at - 1][2]
                    more = self._includes.parse(path, self._prefix, repeated=True, fail=self.failing(offset))
                    assert isinstance(more, Plugins)
                    found.entries += more.entries
            else:
                keys = self.path(stop="key")
                name, offset = dotted(keys), keys[0][1]
                holder = Object(offset)
                self._assign(holder, [(name, offset)], top=False)
                found.entries.append((name, offset, holder.fields[name].values[0]))
            self._separator(closing)

    def _more(self, closing: str, opened: int) -> bool:
        """Return True if another key follows; otherwise skip the closing brace."""
        self.skip()
        kind, text, offset = self.tokens[self.at]
        if kind == "end":
            if closing:
                place = self.texts.position(opened)
                self.fail(f"the '{{' in line {place.line} is never closed: a '}}' is missing", offset)
            return False
        if kind == "mark" and text == "}":
            if not closing:
                self.fail("unexpected '}': no block is open here", offset)
            self.at += 1
            return False
        return True

    def _separator(self, closing: str) -> None:
        kind, text, offset = self.tokens[self.at]
        line_ended = False
        while kind in ("space", "newline"):
            line_ended = line_ended or kind == "newline"
            self.at += 1
            kind, text, offset = self.tokens[self.at]
        if kind == "mark" and text == ",":
            self.at += 1
            self.skip()
            if self.tokens[self.at][:2] == ("mark", ","):
                self.fail("two commas in a row", self.tokens[self.at][2])
        elif not line_ended and kind != "end" and not (kind == "mark" and text == (closing or "}")):
            self.fail(f"expected a line end or a comma before {text!r}", offset)

    # -- include ------------------------------------------------------------------------------------------------------

    def _is_include(self) -> bool:
        if self.tokens[self.at][:2] != ("text", "include"):
            return False
        at = self.at + 1
        while self.tokens[at][0] in ("space", "newline"):
            at += 1
        kind, text, _ = self.tokens[at]
        return kind == "quoted" or (kind == "text" and text.startswith(("file(", "required(", "url(", "classpath(")))

    def _included(self) -> tuple[Path | None, int]:
        start = self.tokens[self.at][2]
        self.at += 1
        self.next_significant()
        written, name = "", None
        while self.tokens[self.at][0] in ("quoted", "text", "space"):
            kind, text, offset = self.tokens[self.at]
            if kind == "quoted" and name is None:
                name = self.unescaped(text, offset)
                written += '"'
            elif kind != "space":
                written += text
            self.at += 1
        fail = self.failing(start)
        allowed = {'"': False, 'file(")': False, 'required(")': True, 'required(file("))': True}
        if name is None or written not in allowed:
            fail('use include "FILE"; URLs and class paths cannot be included')
        path = self._includes.find(name, fail)
        if path is None and allowed[written]:
            fail(f"the included file {name!r} does not exist")
        if path is None:
            place = self.texts.position(start)
            self._includes.problems.warn(f"the included file {name!r} does not exist, so the include is ignored", place)
        return path, start

    def _include(self, target: Object, *, top: bool) -> None:
        path, start = self._included()
        if path is None:
            return
        prefix = self._prefix + self._place
        found = self._includes.parse(path, prefix, repeated=False, fail=self.failing(start))
        assert isinstance(found, Object)
        if not top and self._depth + 1 > MAX_DEPTH:
            self.fail(f"nested more than {MAX_DEPTH} levels deep", start)
        target.absorb(found)

    # -- values -------------------------------------------------------------------------------------------------------

    def _value(self) -> Node:
        """Parse a concatenated value, up to the end of the line, a comma or a closing bracket."""
        parts: list[Node] = []
        first = self.tokens[self.at][2]
        while True:
            kind, text, offset = self.tokens[self.at]
            if kind in ("newline", "end") or (kind == "mark" and text in ",]}"):
                break
            parts.append(self._part(kind, text, offset))
        while parts and isinstance(parts[-1], Literal) and parts[-1].value is SPACE:
            parts.pop()
        if not parts:
            kind, text, offset = self.tokens[self.at]
            self.fail("a value is missing" + (f" before {text!r}" if text.strip() else ""), offset)
        return parts[0] if len(parts) == 1 else _joined(parts, first)

    def _part(self, kind: str, text: str, offset: int) -> Node:
        self.at += 1
        if kind == "space":
            return Literal(SPACE, text, offset)
        if kind == "text":
            return Literal(typed(text), text, offset)
        if kind == "number":
            if not NUMBER.fullmatch(text):
                self.unexpected("+", offset + text.index("+"))
            return Literal(typed(text), text, offset)
        if kind == "quoted":
            content = self.unescaped(text, offset)
            return Literal(content, content, offset)
        if kind == "triple":
            return Literal(text[3:-3], text[3:-3], offset)
        if kind == "substitution":
            return self._substitution(text, offset)
        if kind == "mark" and text in "{[":
            self._depth += 1
            if self._depth > MAX_DEPTH:
                self.fail(f"nested more than {MAX_DEPTH} levels deep", offset)
            value = self._object(offset) if text == "{" else self._array(offset)
            self._depth -= 1
            return value
        return self.unexpected(text, offset)

    def _object(self, offset: int) -> Object:
        found = Object(offset)
        self._fields(found, top=False, closing="}", opened=offset)
        return found

    def _array(self, opened: int) -> Array:
        items: list[Node] = []
        self.skip()
        while self.tokens[self.at][:2] != ("mark", "]"):
            if self.tokens[self.at][0] == "end":
                line = self.texts.position(opened).line
                self.fail(f"the '[' in line {line} is never closed: a ']' is missing", self.tokens[self.at][2])
            items.append(self._value())
            self._separator("]")
            self.skip()
        self.at += 1
        return Array(items, opened)

    def _substitution(self, text: str, offset: int) -> Substitution:
        """Parse ``${path}``, ``${?path}``, and SeaTunnel's ``${name:default}``."""
        inner = text[2:-1]
        optional = inner.startswith("?")
        words = tokens(inner[optional:], offset + 2 + optional, comments=True)
        parser = _Parser(words, self._includes, self._prefix, depth=self._depth)
        path = parser.path(stop="substitution")
        default = None
        if parser.tokens[parser.at][:2] == ("mark", ":"):
            parser.at += 1
            parser.skip()
            default = parser._value() if parser.tokens[parser.at][0] != "end" else Literal("", "", offset)
        if parser.tokens[parser.at][0] != "end":
            self.unexpected(parser.tokens[parser.at][1], parser.tokens[parser.at][2])
        return Substitution(tuple(key for key, _ in path), optional, default, offset, self._prefix)


def _joined(parts: list[Node], offset: int) -> Node:
    if all(isinstance(part, Literal) for part in parts):
        text = "".join(part.text for part in parts if isinstance(part, Literal))
        return Literal(text, text, offset)
    return Concatenation(parts, offset)
