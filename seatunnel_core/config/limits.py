"""Limits on the cost of parsing: a few lines may expand to billions of values, or take hours to parse.

The parsers count while they work, so they stop before a document exceeds the limits. Submitted jobs have tighter limits
than files of the user who runs a job.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from attrs import define, field, frozen

from seatunnel_core.config.document import Block, Items, Position, Scalar, Value
from seatunnel_core.errors import ConfigError

Token = TypeVar("Token")

PIECE = 16
"""Number of characters that count as one value."""

_TICKS = 2_048
"""Number of parser steps between two checks of the processor time."""


@frozen(kw_only=True)
class Limits:
    """Limits on parsing one configuration document."""

    characters: int = 64 * 1024 * 1024
    tokens: int = 50_000_000
    """Maximum number of tokens, including spaces and line ends, or of parser events for YAML."""

    keys: int = 5_000_000
    substitutions: int = 5_000_000
    """Maximum number of values and text pieces that substitutions, variables, aliases, merges and ``+=`` add."""

    seconds: float = 600.0
    """Maximum processor time, in seconds."""


LOCAL = Limits()
SUBMITTED = Limits(characters=10 * 1024 * 1024, tokens=3_000_000, keys=500_000, substitutions=500_000, seconds=10.0)


@define(eq=False)
class Budget:
    """Remaining budget while a document is parsed. Methods raise ``ConfigError`` if a limit is exceeded."""

    limits: Limits = LOCAL
    _tokens: int = 0
    _keys: int = 0
    _substituted: int = 0
    _ticks: int = 0
    _begun: float = field(factory=time.thread_time, init=False)

    def text(self, text: str, place: Position) -> None:
        """Count the characters of a document."""
        if len(text) > self.limits.characters:
            self._exceed("bytes", f"the text has more than {self.limits.characters:,} characters", place)

    def tokens(self, found: Iterable[Token], place: Callable[[Token], Position]) -> Iterator[Token]:
        """Yield tokens or parser events, and count each of them."""
        for each in found:
            self._tokens += 1
            if self._tokens > self.limits.tokens:
                self._exceed("tokens", f"the text has more than {self.limits.tokens:,} tokens", place(each))
            if self._tokens % _TICKS == 0:
                self._look_at_clock(lambda each=each: place(each))  # type: ignore[misc]
            yield each

    def key(self, place: Callable[[], Position]) -> None:
        """Count a key."""
        self._keys += 1
        if self._keys > self.limits.keys:
            self._exceed("keys", f"the text has more than {self.limits.keys:,} keys", place())
        self.tick(place)

    def substituted(self, values: int, place: Callable[[], Position]) -> None:
        """Count values that a substitution adds or copies."""
        self._substituted += values
        if self._substituted > self.limits.substitutions:
            said = (
                "the text is too large: substitutions, aliases and merges add more than "
                f"{self.limits.substitutions:,} values"
            )
            self._exceed("substitutions", said, place())
        self.tick(place)

    def tick(self, place: Callable[[], Position]) -> None:
        """Count a parser step, and check the time periodically."""
        self._ticks += 1
        if self._ticks % _TICKS == 0:
            self._look_at_clock(place)

    def _look_at_clock(self, place: Callable[[], Position]) -> None:
        if time.thread_time() - self._begun > self.limits.seconds:
            self._exceed("time", f"parsing the text takes longer than {self.limits.seconds:g} s", place())

    def _exceed(self, name: str, said: str, place: Position) -> None:
        raise ConfigError(f"{place}: limit of {name} exceeded: {said}. Split the job, or reduce repetitions")


def weight(value: Value, known: dict[int, tuple[Value, int]]) -> int:
    """Return the number of values and text pieces in a value; ``known`` caches weights by identity."""
    if isinstance(value, Scalar):
        return 1 + len(value.text) // PIECE
    found = known.get(id(value))
    if found is None:
        parts = value.values if isinstance(value, Items) else tuple(entry.value for entry in value.entries)
        found = known[id(value)] = (value, 1 + sum(weight(part, known) for part in parts))
    return found[1]


def size(value: Value | None) -> int:
    """Return the number of entries or elements to copy for a block or a list."""
    if isinstance(value, Items):
        return len(value.values)
    return len(value.entries) if isinstance(value, Block) else 1


def copied(earlier: Value, later: Value) -> int:
    """Return the number of entries or elements to copy when two values are joined, including nested blocks."""
    if not (isinstance(earlier, Block) and isinstance(later, Block)):
        return size(earlier) + size(later)
    own = {entry.key: entry.value for entry in earlier}
    return len(own) + sum(copied(own[each.key], each.value) if each.key in own else 1 for each in later)
