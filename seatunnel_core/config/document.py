"""Content of a configuration file: a tree of values with their positions, independent of the file format."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attrs import evolve, field, frozen

from seatunnel_storage_api.secret import Resolved, refers


@frozen
class Position:
    """A position in a file, printed as ``job.conf:3:5``, which editors and terminals can open."""

    file: str
    """Path as given by the user; empty for a job built in Python."""

    line: int = 0
    """Line number, starting at 1; 0 for the file as a whole."""

    column: int = 0
    """Column number in characters, starting at 1."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@frozen
class Scalar:
    """A string, a number, a boolean or ``null``; in the Python API, any object, such as a function."""

    value: Any
    text: str = field(eq=False)
    """Original text without quotes and escapes."""

    position: Position = field(eq=False)


@frozen
class Items:
    """A list of values."""

    values: "tuple[Value, ...]"
    position: Position = field(eq=False)


@frozen
class Entry:
    """A key of a block, with its value."""

    key: str
    value: "Value"
    position: Position = field(eq=False)
    """Position of the key."""


@frozen
class Block:
    """Keys with values, in the order of the file.

    Keys are unique, except directly in ``source``, ``transform`` and ``sink``, where plugins may repeat.
    """

    entries: tuple[Entry, ...]
    position: Position = field(eq=False)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def get(self, key: str) -> "Value | None":
        """Return the value of the last entry with this key, or ``None``."""
        for entry in reversed(self.entries):
            if entry.key == key:
                return entry.value
        return None

    def merged(self, later: "Block") -> "Block":
        """Merge two blocks: later values replace earlier ones, and nested blocks are merged recursively.

        If a key has both a value and a block, both are kept (see ``OWN``), with the entries of the later block last.
        """
        found = {entry.key: entry for entry in self.entries}
        for entry in later.entries:
            earlier = found.pop(entry.key, None) if OWN in found else found.get(entry.key)
            if earlier:
                entry = evolve(entry, value=overridden(earlier.value, entry.value))
            found[entry.key] = entry
        return Block(tuple(found.values()), self.position)


Value = Scalar | Items | Block

OWN = "\ud800"
"""Key of the entry for a block's own value, as in ``start_mode = timestamp`` with ``start_mode.timestamp = 1``. HOCON
keeps only the later one, but SeaTunnel jobs use both if both keys are options. The parser does not know the options, so
it keeps both: the value becomes an entry with this key in the nested block, before the later entries. ``validation.py``
uses both if both are options, and otherwise applies HOCON's rule, ``by_hocon``. No file can contain this key, because
it is half of a surrogate pair."""

Warn = Callable[[str, Position, str], None]
"""Function that reports a warning with a position and a suggestion."""


def dotted(prefix: str, key: str) -> str:
    """Return the dotted key of an entry below a prefix such as ``a.b.``; a block's own value has the block's key."""
    return prefix + key if key not in (OWN, "") else prefix.removesuffix(".")


def is_null(value: Value) -> bool:
    """Return True if a value is ``null``, which removes the earlier value of the key."""
    return isinstance(value, Scalar) and value.value is None


def overridden(earlier: Value, later: Value) -> Value:
    """Return the effective value of a key to which two values were assigned in succession."""
    if isinstance(later, Block) and not is_null(earlier):
        if not later.entries and (
            not isinstance(earlier, Block) or (earlier.entries[-1:] and earlier.entries[-1].key == OWN)
        ):
            return later
        if not isinstance(earlier, Block):
            earlier = Block((Entry(OWN, earlier, earlier.position),), earlier.position)
        return earlier.merged(later)
    if isinstance(earlier, Block) and not isinstance(later, Block) and not is_null(later):
        below = (entry for entry in earlier if entry.key != OWN)
        return Block((*below, Entry(OWN, later, later.position)), earlier.position)
    return later


def visible(value: Value) -> Value:
    """Return the value that HOCON keeps for a key with both a value and nested keys: the later one."""
    at = _own(value)
    if at is None or not isinstance(value, Block):
        return value
    behind = value.entries[at + 1 :]
    return evolve(value, entries=behind) if behind else value.entries[at].value


def _own(value: Value) -> int | None:
    """Return the index of the entry with the block's own value."""
    entries = value.entries if isinstance(value, Block) else ()
    return next((at for at, entry in enumerate(entries) if entry.key == OWN), None)


def by_hocon(value: Value, warn: Warn) -> Value:
    """Apply HOCON's rule to blocks with an own value, and report a warning for each hidden value."""
    if isinstance(value, Items):
        return evolve(value, values=tuple(by_hocon(part, warn) for part in value.values))
    if not isinstance(value, Block):
        return value
    at = _own(value)
    if at is None:
        return evolve(value, entries=tuple(evolve(each, value=by_hocon(each.value, warn)) for each in value))
    own, behind = value.entries[at].value, value.entries[at + 1 :]
    if at or behind:
        _warn_of_hidden(own if behind else value.entries[0], behind[0] if behind else own, warn)
    return by_hocon(visible(value), warn)


def _warn_of_hidden(hidden: Value | Entry, later: Value | Entry, warn: Warn) -> None:
    warn(
        f"this value hides the value at {hidden.position}",
        later.position,
        "A key cannot have both a value and nested keys: quote the longer key to keep both",
    )


def plain(value: Value, *, textual: bool = False) -> Any:
    """Return the value as dicts, lists and scalars. A block's own value has an empty key.

    With ``textual``, numbers and booleans are returned as strings in their original notation.
    """
    if isinstance(value, Scalar):
        return value.text if textual and isinstance(value.value, (int, float)) else value.value
    if isinstance(value, Items):
        return [plain(part, textual=textual) for part in value.values]
    return {entry.key.removeprefix(OWN): plain(entry.value, textual=textual) for entry in value.entries}


CODE = Position("")
"""Position of values that are built in Python; printed as an empty string."""


def from_code(value: Any, position: Position = CODE) -> Value:
    """Convert plain Python objects to a tree, for jobs built in code."""
    if isinstance(value, Mapping):
        entries = (Entry(str(key), from_code(part, position), position) for key, part in value.items())
        return Block(tuple(entries), position)
    if isinstance(value, (list, tuple)):
        return Items(tuple(from_code(part, position) for part in value), position)
    if isinstance(value, bool):
        return Scalar(value, "true" if value else "false", position)
    if isinstance(value, str) and "${" in value and not refers(value):
        value = Resolved(value)  # Python code has its own variables: placeholders in its strings are not resolved
    return Scalar(value, "null" if value is None else str(value), position)
