"""The content of a configuration file: a tree of values with their positions, the same for all formats."""

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import evolve, field, frozen


@frozen
class Position:
    """A position in a file; its text is ``job.conf:3:5``, which editors and terminals can jump to."""

    file: str
    """As the user wrote it: the path that was given, or ``<code>`` for the Python API."""

    line: int = 0
    """From 1; 0 means the file as a whole."""

    column: int = 0
    """From 1, in characters."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@frozen
class Scalar:
    """A text, a number, a truth value or ``null``; in the Python API any object, for example a function."""

    value: Any
    text: str = field(eq=False)
    """As it was written, without quotes and escapes."""

    position: Position = field(eq=False)


@frozen
class Items:
    """A list."""

    values: "tuple[Value, ...]"
    position: Position = field(eq=False)


@frozen
class Entry:
    """One key of a block and its value."""

    key: str
    value: "Value"
    position: Position = field(eq=False)
    """Of the key."""


@frozen
class Block:
    """Keys and values in the order of the text.

    Keys are unique, except where a file may repeat them on purpose: directly in ``source``, ``transform`` and ``sink``.
    """

    entries: tuple[Entry, ...]
    position: Position = field(eq=False)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def get(self, key: str) -> "Value | None":
        """Return the value of the last entry with this key; ``None`` when there is none."""
        for entry in reversed(self.entries):
            if entry.key == key:
                return entry.value
        return None

    def merged(self, later: "Block") -> "Block":
        """Return both blocks in one; the later value of a key wins, and blocks below a key are merged the same way."""
        found = {entry.key: entry for entry in self.entries}
        for entry in later.entries:
            earlier = found.get(entry.key)
            if earlier and isinstance(earlier.value, Block) and isinstance(entry.value, Block):
                entry = evolve(entry, value=earlier.value.merged(entry.value))
            found[entry.key] = entry
        return Block(tuple(found.values()), self.position)


Value = Scalar | Items | Block


def plain(value: Value, *, textual: bool = False) -> Any:
    """Return the value as dicts, lists and scalars; with ``textual``, numbers and truth values as they were written."""
    if isinstance(value, Scalar):
        return value.text if textual and isinstance(value.value, (int, float)) else value.value
    if isinstance(value, Items):
        return [plain(part, textual=textual) for part in value.values]
    return {entry.key: plain(entry.value, textual=textual) for entry in value.entries}


CODE = Position("<code>")


def from_code(value: Any, position: Position = CODE) -> Value:
    """Return the tree of plain Python objects, for jobs that are built in code."""
    if isinstance(value, Mapping):
        entries = (Entry(str(key), from_code(part, position), position) for key, part in value.items())
        return Block(tuple(entries), position)
    if isinstance(value, (list, tuple)):
        return Items(tuple(from_code(part, position) for part in value), position)
    if isinstance(value, bool):
        return Scalar(value, "true" if value else "false", position)
    return Scalar(value, "null" if value is None else str(value), position)
