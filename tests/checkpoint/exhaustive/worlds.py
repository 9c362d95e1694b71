"""What a world consists of. All values, so that two ways to the same world are seen to meet."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from attrs import frozen

from seatunnel_storage_api.state import CheckpointRef
from tests.checkpoint.exhaustive.properties import Key

UNLIMITED = 1_000_000

Op = tuple[Any, ...]
"""What an engine has under way: a word, and what the step needs."""


@frozen(kw_only=True)
class Bounds:
    """How large the world is."""

    engines: int
    rows: int = 1
    triggers: tuple[int, ...] = (1,)
    """How many checkpoints a person asks for in the first engine, the second, …; later ones get the last number."""

    retained: int = UNLIMITED
    faults: int = 0
    """How many stores and commits may fail, and checkpoints expire, in the whole run."""

    ordered: bool = False
    concurrent: int = 2
    rewinds: int = 0
    """How many engines may be asked to go back, to anything that is stored then, and to take rows back (R10)."""

    endless: bool = False
    """Whether the source finds its rows one after the other, and never ends (R12)."""

    keys: str = ""
    """Of an ordered source whose sink writes directly: the ordering key of each row, a letter, or ``-`` for none. Units
    may fail then, with their rows written or not (R13)."""

    asks: bool = False
    """Whether later starts ask the target what is published (R10)."""

    @property
    def unwritten(self) -> tuple[int, ...]:
        """By ordering key, the row that was written last: none."""
        return (-1,) * len({*self.keys} - {"-"})

    @property
    def newest(self) -> tuple[int, ...]:
        """What must be written last."""
        return self.written(self.unwritten, range(len(self.keys)))

    def written(self, before: tuple[int, ...], rows: Iterable[int]) -> tuple[int, ...]:
        """What is written last after ``rows`` as well. A row without a key is written over those of all keys."""
        last = dict(zip(sorted({*self.keys} - {"-"}), before, strict=True))
        for row in rows:
            key = self.keys[row]
            last.update(dict.fromkeys(last, row) if key == "-" else {key: row})
        return tuple(last.values())

    def __str__(self) -> str:
        retained = "all" if self.retained == UNLIMITED else self.retained
        triggers = "+".join(map(str, self.triggers))
        order = (" in order" if self.ordered else "") + (" without end" if self.endless else "")
        order += f" written directly with the keys {self.keys}" if self.keys else ""
        return (
            f"{self.engines} engines, {self.rows} rows{order}, {triggers} triggers, {retained} retained, "
            f"{self.faults} faults{f', {self.rewinds} going back' if self.rewinds else ''}"
            f"{', asking what is published' if self.asks else ''}"
        )


class Engine(NamedTuple):
    """One start of the pipeline, in any process. The n-th to claim has epoch n."""

    local: int
    """The state of its protocol."""

    under_way: tuple[Op, ...]
    triggers: int
    """How many checkpoints may still be asked for."""

    restore_point: int = -1
    """The number of its restore point's state once that stood unfenced: until then it may touch nothing."""

    finished: bool = False
    completed: bool = False
    """Whether its sinks have published what waited for the last row (R16)."""

    asked: CheckpointRef | None = None
    """What it was asked to go back to."""


class World(NamedTuple):
    """Everything that a next step depends on."""

    markers: tuple[int, ...]
    stored: tuple[int, ...]
    """The numbers of the stored states, sorted by epoch and id."""

    orphaned: frozenset[int]
    """Stored, and orphaned since an engine that acts began, or put by an older one since then."""

    staged: frozenset[Key]
    published: int
    """A bit for each row."""

    things: frozenset[tuple[Key, int]]
    """What was published, with its rows; recorded where something may be taken back, or the target is asked."""

    engines: tuple[Engine, ...]
    written: tuple[int, ...]
    """Where the sink writes directly: by ordering key, the row that was written last."""

    faults: int
    """How many may still come."""

    def with_engine(self, number: int, engine: Engine) -> "World":
        return self._replace(engines=(*self.engines[:number], engine, *self.engines[number + 1 :]))


class Step(NamedTuple):
    """Which engine does what."""

    engine: int
    op: Op
    how: str = ""
    """Empty when all goes well."""
