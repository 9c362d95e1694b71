"""What was played so far: a line of JSON for each batch of seeds."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from attrs import asdict, define, field

from tests.server.simulation.faults import Faults

STATE = Path(__file__).parent / "played.jsonl"
KINDS = tuple(asdict(Faults()))


@define(kw_only=True)
class Batch:
    """Seeds that were played one after the other."""

    commit: str
    """Of what was played; ends with ``+`` if files were changed."""

    first: int
    next: int
    """The seed behind the last one."""

    counts: dict[str, int]
    """What happened in runs in which no rule was broken, and ``runs``."""

    broken: list[str] = field(factory=list)
    """What broke a rule, with its seed."""

    note: str = ""
    """What came of those, written by hand."""

    @property
    def faults(self) -> int:
        """How many faults were played."""
        return faults_of(Counter(self.counts))


def faults_of(counts: Counter[str]) -> int:
    """Return how many faults were played."""
    return sum(counts[kind] for kind in KINDS)


def read_batches(path: Path) -> list[Batch]:
    """Return the batches of a state file; none if there is no such file."""
    if not path.exists():
        return []
    return [Batch(**json.loads(line)) for line in path.read_text("utf-8").splitlines() if line]


def add_batch(path: Path, batch: Batch) -> None:
    """Append a batch to a state file; one that goes on behind the last one of the same commit is added to that."""
    batches = read_batches(path)
    if batches and (batches[-1].commit, batches[-1].next) == (batch.commit, batch.first):
        last = batches[-1]
        last.next, last.broken = batch.next, last.broken + batch.broken
        last.counts = dict(Counter(last.counts) + Counter(batch.counts))
    else:
        batches.append(batch)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(asdict(each)) + "\n" for each in batches), "utf-8")


def summed(batches: Sequence[Batch]) -> Counter[str]:
    """Return what happened in all batches."""
    return sum((Counter(batch.counts) for batch in batches), Counter[str]())
