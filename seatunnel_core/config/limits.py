"""Limits on the cost of parsing one text. A few lines can expand to billions of values, or take hours.

The parsers count while they work, so that a text is rejected before it costs more. Texts that were submitted have
tighter limits than files of the user who runs a job.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from attrs import define, field, frozen

from seatunnel_core.config.document import Block, Items, Position, Scalar, Value
from seatunnel_core.errors import ConfigError

Token = TypeVar("Token")

PIECE = 16
"""Characters of a text that count as one value."""

_TICKS = 2_048
"""Steps of a parser between two checks of the time."""


@frozen(kw_only=True)
class Limits:
    """The maximum cost of one text."""

    characters: int = 64 * 1024 * 1024
    tokens: int = 50_000_000
    """Tokens of the text, including spaces and line ends; for YAML, parser events."""

    keys: int = 5_000_000
    substitutions: int = 5_000_000
    """Values, and pieces of text, that substitutions, variables, aliases, merges and ``+=`` may add or copy."""

    seconds: float = 600.0
    """Processor time."""


LOCAL = Limits()
SUBMITTED = Limits(characters=10 * 1024 * 1024, tokens=3_000_000, keys=500_000, substitutions=500_000, seconds=10.0)


@define(eq=False)
class Budget:
    """Remaining limits while one text is parsed."""

    limits: Limits = LOCAL
    _tokens: int = 0
    _keys: int = 0
    _substituted: int = 0
    _ticks: int = 0
    _begun: float = field(factory=time.thread_time, init=False)

    def text(self, text: str, place: Position) -> None:
        """Count the characters of a text.

        Raises:
            ConfigError: it has too many; so do the other methods.
        """
        if len(text) > self.limits.characters:
            self._exceed("bytes", f"the text has more than {self.limits.characters:,} characters", place)

    def tokens(self, found: Iterable[Token], place: Callable[[Token], Position]) -> Iterator[Token]:
        """Return tokens, or events of a parser, and count each when it is taken."""
        for each in found:
            self._tokens += 1
            if self._tokens > self.limits.tokens:
                self._exceed("tokens", f"there are more than {self.limits.tokens:,} words and marks", place(each))
            if self._tokens % _TICKS == 0:
                self._look_at_clock(lambda each=each: place(each))  # type: ignore[misc]
            yield each

    def key(self, place: Callable[[], Position]) -> None:
        """Count a key."""
        self._keys += 1
        if self._keys > self.limits.keys:
            self._exceed("keys", f"there are more than {self.limits.keys:,} keys", place())
        self.tick(place)

    def substituted(self, values: int, place: Callable[[], Position]) -> None:
        """Count values that a substitution adds or copies at this place."""
        self._substituted += values
        if self._substituted > self.limits.substitutions:
            said = (
                f"substitutions make this text too large: they, aliases and merges add more than "
                f"{self.limits.substitutions:,} values"
            )
            self._exceed("substitutions", said, place())
        self.tick(place)

    def tick(self, place: Callable[[], Position]) -> None:
        """Count a step, and check the time occasionally."""
        self._ticks += 1
        if self._ticks % _TICKS == 0:
            self._look_at_clock(place)

    def _look_at_clock(self, place: Callable[[], Position]) -> None:
        if time.thread_time() - self._begun > self.limits.seconds:
            self._exceed("time", f"to read it takes longer than {self.limits.seconds:g} s", place())

    def _exceed(self, name: str, said: str, place: Position) -> None:
        raise ConfigError(f"{place}: limit of {name} exceeded: {said}. Split the job, or write it without repetitions")


def weight(value: Value, known: dict[int, tuple[Value, int]]) -> int:
    """Return the number of values and pieces of text of a value.

    Args:
        value: to measure.
        known: the weights of values that were measured before, by identity; is added to.
    """
    if isinstance(value, Scalar):
        return 1 + len(value.text) // PIECE
    found = known.get(id(value))
    if found is None:
        parts = value.values if isinstance(value, Items) else tuple(entry.value for entry in value.entries)
        found = known[id(value)] = (value, 1 + sum(weight(part, known) for part in parts))
    return found[1]


def size(value: Value | None) -> int:
    """Return how many entries or values are copied with a block or a list."""
    if isinstance(value, Items):
        return len(value.values)
    return len(value.entries) if isinstance(value, Block) else 1


def copied(earlier: Value, later: Value) -> int:
    """Return how many entries or values are copied when two values are joined; blocks in blocks are merged, too."""
    if not (isinstance(earlier, Block) and isinstance(later, Block)):
        return size(earlier) + size(later)
    own = {entry.key: entry.value for entry in earlier}
    return len(own) + sum(copied(own[each.key], each.value) if each.key in own else 1 for each in later)
