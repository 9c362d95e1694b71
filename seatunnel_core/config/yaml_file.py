"""Parser for YAML files as a tree with positions. It reads parser events iteratively and constructs no objects."""

import re
from collections.abc import Iterator
from typing import Any, NoReturn

import yaml
from attrs import define, field

from seatunnel_core.config.document import Block, Entry, Items, Position, Scalar, Value
from seatunnel_core.config.limits import size, weight
from seatunnel_core.config.problem import Problem, Problems
from seatunnel_core.errors import ConfigError

MAX_DEPTH = 64
_MAX_ALIASES = 1_000
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_FLOAT = re.compile(r"[+-]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][+-]?[0-9]+)?")
_FENCE = re.compile(r"```[ \w-]*")
_SLASHES = re.compile(r"^ *//", re.MULTILINE)
_TAB = re.compile(r" *\t")
_AT_A_TAB = ("found character that cannot start any token", "found a tab", "mapping values are not allowed")
_WORDS = {
    "": None,
    "~": None,
    "null": None,
    "true": True,
    "yes": True,
    "on": True,
    "false": False,
    "no": False,
    "off": False,
}
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@define(eq=False)
class _Open:
    """A block or a list that is not complete yet."""

    position: Position
    is_block: bool
    anchor: str | None
    entries: list[Entry] = field(factory=list)
    values: list[Value] = field(factory=list)
    key: Scalar | None = None
    keys: set[str] = field(factory=set)
    merged: list[Block] = field(factory=list)
    """Blocks merged by ``<<``. For each key the first block wins, and the block's own keys override all of them."""

    def closed(self) -> Value:
        if not self.is_block:
            return Items(tuple(self.values), self.position)
        block = Block(tuple(self.entries), self.position)
        for below in self.merged:
            own = {entry.key for entry in block}
            block = Block((*block, *(entry for entry in below if entry.key not in own)), self.position)
        return block


def parse_yaml(text: str, name: str, problems: Problems) -> Value:
    """Parse the content of a file, or raise ``ConfigError``. An empty file is an empty block.

    Keys that start with ``//`` and a code fence around the content are ignored with a warning, because SeaTunnel's
    documentation of the engine configuration contains both. Tags and multiple documents are errors.
    """
    return _Reader(name, problems).read(_unfenced(text, name, problems))


def _unfenced(text: str, name: str, problems: Problems) -> str:
    """Replace a code fence around the content with empty lines, so that line numbers do not change."""
    if "```" not in text:
        return text
    lines = text.split("\n")
    for numbers in (range(len(lines)), range(len(lines) - 1, -1, -1)):
        first = True
        for number in numbers:
            if _FENCE.fullmatch(lines[number].rstrip("\r")):
                lines[number] = ""
                if first:
                    place = Position(name, number + 1, 1)
                    problems.warn("a Markdown code fence is treated as a comment", place, "Remove the line")
                first = False
            elif lines[number].strip():
                break
    return "\n".join(lines)


@define(eq=False)
class _Reader:
    name: str
    problems: Problems
    open: list[_Open] = field(factory=list)
    anchors: dict[str, Value] = field(factory=dict)
    weights: dict[int, tuple[Value, int]] = field(factory=dict)
    aliases: int = 0
    root: Value | None = None
    documents: int = 0

    def read(self, text: str) -> Value:
        for event in self.problems.budget.tokens(self._events(text), self._place):
            if isinstance(event, yaml.DocumentStartEvent):
                self.documents += 1
                if self.documents > 1:
                    self._fail(
                        ("a second document starts here, but a configuration must be a single document"),
                        self._place(event),
                    )
            elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
                self._begin(event)
            elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
                closed = self.open.pop()
                self._add(closed.closed(), closed.anchor)
            elif isinstance(event, yaml.ScalarEvent):
                self._add(self._scalar(event), event.anchor)
            elif isinstance(event, yaml.AliasEvent):
                self._add(self._alias(event), None)
        return self.root if self.root is not None else Block((), Position(self.name, 1, 1))

    def _events(self, text: str) -> Iterator[yaml.Event]:
        try:
            yield from yaml.parse(text, Loader=_LOADER)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            self._refuse_tab(error, text)
            place = Position(self.name, mark.line + 1, mark.column + 1) if mark else Position(self.name)
            hint = " (comments begin with '#')" if _SLASHES.search(text) else ""
            self._fail(f"this is not YAML: {error.problem or error.context}{hint}", place)
        except yaml.reader.ReaderError as error:
            self._fail(f"this is not YAML: {error.reason}", Position(self.name))

    def _refuse_tab(self, error: yaml.MarkedYAMLError, text: str) -> None:
        """Raise an error if the line at which the parser stopped is indented with a tab."""
        if not error.problem_mark or not str(error.problem).startswith(_AT_A_TAB):
            return
        line, lines = error.problem_mark.line, text.splitlines()
        tab = _TAB.match(lines[line]) if line < len(lines) else None
        if tab:
            self._fail(
                "this line starts with a tab, but YAML must be indented with spaces. Replace the tab with spaces",
                Position(self.name, line + 1, tab.end()),
            )

    def _begin(self, event: Any) -> None:
        place = self._place(event)
        if len(self.open) >= MAX_DEPTH:
            self._fail(f"nested more than {MAX_DEPTH} levels deep", place)
        if event.tag:
            self._fail(f"the tag {event.tag} is not supported", place)
        self.open.append(_Open(place, isinstance(event, yaml.MappingStartEvent), event.anchor))

    def _scalar(self, event: Any) -> Scalar:
        place = self._place(event)
        if event.tag and event.tag != "!":
            self._fail(f"the tag {event.tag} is not supported", place)
        return Scalar(_typed(event.value) if not event.style and not event.tag else event.value, event.value, place)

    def _alias(self, event: Any) -> Value:
        self.aliases += 1
        if event.anchor not in self.anchors:
            self._fail(
                f"*{event.anchor} refers to the anchor &{event.anchor}, which is not defined above it",
                self._place(event),
            )
        nested = not isinstance(self.anchors[event.anchor], Scalar) and any(level.anchor for level in self.open)
        if nested or self.aliases > _MAX_ALIASES:
            self._fail("aliases inside an anchored value are not supported", self._place(event))
        found = self.anchors[event.anchor]
        self.problems.budget.substituted(weight(found, self.weights), lambda: self._place(event))
        return found

    def _add(self, value: Value, anchor: str | None) -> None:
        if anchor:
            self.anchors[anchor] = value
        if not self.open:
            self.root = value
            return
        parent = self.open[-1]
        if not parent.is_block:
            parent.values.append(value)
        elif parent.key is None:
            if not isinstance(value, Scalar):
                self._fail("a key must be a string, not a block or a list", value.position)
            parent.key = value
        else:
            self._entry(parent, parent.key, value)
            parent.key = None

    def _entry(self, parent: _Open, key: Scalar, value: Value) -> None:
        if key.text.startswith("//"):
            self.problems.warn(f"{key.text!r} is treated as a comment", key.position, "Begin comments with '#'")
        elif key.text == "<<":
            for block in value.values if isinstance(value, Items) else (value,):
                if not isinstance(block, Block):
                    self._fail("'<<' takes a block", key.position)
                # Each merge copies the current entries of the block.
                self.problems.budget.substituted(size(block) * (1 + len(parent.merged)), lambda: key.position)
                parent.merged.append(block)
        elif key.text in parent.keys:
            self._fail(
                f"the key {key.text!r} occurs twice in this block; to set several values, use a list ('- "
                f"{key.text}: …')",
                key.position,
            )
        else:
            self.problems.budget.key(lambda: key.position)
            parent.keys.add(key.text)
            parent.entries.append(Entry(key.text, value, key.position))

    def _place(self, event: Any) -> Position:
        return Position(self.name, event.start_mark.line + 1, event.start_mark.column + 1)

    def _fail(self, message: str, place: Position) -> NoReturn:
        raise ConfigError(str(Problem(message, place)))


def _typed(text: str) -> Any:
    """Return the value of a plain scalar. Only unambiguous numbers are converted, not ``12:30`` or ``0x1F``."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text
