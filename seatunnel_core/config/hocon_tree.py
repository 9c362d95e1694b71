"""Parsed HOCON before resolution: each key with all values assigned to it. ``substitution.py`` resolves them."""

import re
from bisect import bisect_right

from attrs import define, field

from seatunnel_core.config.document import Position

SPACE = object()
"""White space between two parts of a concatenated value."""


@define(eq=False)
class Literal:
    """A string, a number, a boolean or ``null``; or white space between two parts of a value."""

    value: object
    text: str
    offset: int


@define(eq=False)
class Substitution:
    """A ``${path}``, ``${?path}`` or ``${name:default}``."""

    path: tuple[str, ...]
    optional: bool
    default: "Node | None"
    offset: int
    prefix: tuple[str, ...]
    """Path at which the containing file was included. References are first resolved relative to this path."""


@define(eq=False)
class Concatenation:
    """Several parts that form one value: ``a ${b} c``."""

    parts: "list[Node]"
    offset: int


@define(eq=False)
class Array:
    """A list."""

    items: "list[Node]"
    offset: int


@define(eq=False)
class Append:
    """Value of ``key += value``."""

    item: "Node"
    offset: int


@define(eq=False)
class Field:
    """All values assigned to a key, in order."""

    offset: int
    values: "list[Node]" = field(factory=list)


@define(eq=False)
class Object:
    """A block: keys, each with all its assigned values."""

    offset: int
    fields: dict[str, Field] = field(factory=dict)

    def set(self, path: list[tuple[str, int]], value: "Node") -> None:
        """Add a value at a dotted path. Adjacent objects are merged, so keys keep their order."""
        (key, offset), *rest = path
        target = self.fields.setdefault(key, Field(offset))
        last = target.values[-1] if target.values else None
        if rest:
            if not isinstance(last, Object):
                last = Object(offset)
                target.values.append(last)
            last.set(rest, value)
        elif isinstance(last, Object) and isinstance(value, Object):
            last.absorb(value)
        else:
            target.values.append(value)

    def absorb(self, other: "Object") -> None:
        """Append all values of another block."""
        for key, added in other.fields.items():
            for value in added.values:
                self.set([(key, added.offset)], value)


@define(eq=False)
class Plugins:
    """Content of ``source { }``, ``transform { }`` or ``sink { }``, where entries may repeat."""

    entries: "list[tuple[str, int, Node]]"
    offset: int


Node = Literal | Substitution | Concatenation | Array | Append | Object | Plugins


@define(eq=False)
class Texts:
    """Contents of the job file and its includes, concatenated, so that one offset identifies a file and a position."""

    starts: list[int] = field(factory=list)
    lines: list[list[int]] = field(factory=list)
    names: list[str] = field(factory=list)
    end: int = 0

    def add(self, name: str, text: str) -> int:
        """Add the content of a file and return its offset."""
        start = self.end
        self.starts.append(start)
        self.lines.append([0, *(match.end() for match in re.finditer("\n", text))])
        self.names.append(name)
        self.end += len(text) + 1
        return start

    def position(self, offset: int) -> Position:
        """Return the file, line and column at an offset."""
        which = bisect_right(self.starts, offset) - 1
        local = offset - self.starts[which]
        line = bisect_right(self.lines[which], local) - 1
        return Position(self.names[which], line + 1, local - self.lines[which][line] + 1)


@define(eq=False)
class Parsed:
    """A parsed file with unresolved substitutions."""

    root: Object
    texts: Texts


def is_space(node: Node) -> bool:
    """Return True if the node is white space between two parts of a concatenation."""
    return isinstance(node, Literal) and node.value is SPACE
