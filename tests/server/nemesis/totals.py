"""What was played so far: a line of JSON for each batch, and the page that sums them up."""

import json
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from attrs import asdict, field, frozen

ROOT = Path(__file__).parents[3]
PRODUCT = ("seatunnel_core", "seatunnel_storage_api", "plugins")
STATE = Path(__file__).parent / "played.jsonl"


@frozen(kw_only=True)
class Batch:
    """One play of at most 20 minutes, which was judged."""

    commit: str
    """Of what was played; ends with ``+`` if files were changed."""

    plan: str
    seed: int
    minutes: float
    faults: dict[str, int]
    pairs: int
    """How many of them came while another one was not mended yet."""

    phases: dict[str, int]
    """By state: in how many faults a job was in it."""

    jobs: int
    unacknowledged: int
    ends: dict[str, int]
    lost: int
    """Jobs of which the cluster knows nothing, or of whose rows some are missing."""

    doubled: int
    """Jobs of whose rows some are there twice."""

    slowest_stop_s: float
    problems: list[str] = field(factory=list)
    unfinished: int = 0
    """Jobs that still ran when the time to end was over."""

    note: str = ""
    """What came of the problems, written by hand."""

    @property
    def count(self) -> int:
        """How many faults happened."""
        return sum(self.faults.values())


def read_batches(path: Path) -> list[Batch]:
    """Return the batches of a state file; none if there is no such file."""
    if not path.exists():
        return []
    return [Batch(**json.loads(line)) for line in path.read_text("utf-8").splitlines() if line]


def add_batch(path: Path, batch: Batch) -> None:
    """Append a batch to a state file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(batch)) + "\n")


def played(batches: Sequence[Batch]) -> Counter[str]:
    """Return how often each kind of faults happened."""
    return sum((Counter(batch.faults) for batch in batches), Counter[str]())


def commit_of_this_tree() -> str:
    """Return the commit that is played, with ``+`` if files were changed since."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()

    changed = git("status", "--porcelain", "--", *PRODUCT)
    return git("rev-parse", "--short=10", "HEAD") + ("+" if changed else "")


def summary(batches: Sequence[Batch]) -> list[str]:
    """Return the lines that are printed after each batch."""
    faults, phases = played(batches), sum((Counter(batch.phases) for batch in batches), Counter[str]())
    ends = sum((Counter(batch.ends) for batch in batches), Counter[str]())
    lines = [f"{faults.total()} faults, {sum(batch.pairs for batch in batches)} of them beside another one"]
    lines += [f"{count:6}  {name}" for name, count in sorted(faults.items())]
    lines += [f"{count:6}  phase: {name}" for name, count in sorted(phases.items())]
    lines += [f"{count:6}  jobs {name}" for name, count in sorted(ends.items())]
    jobs, lost, doubled = (sum(getattr(batch, each) for batch in batches) for each in ("jobs", "lost", "doubled"))
    return [*lines, f"{jobs} acknowledged jobs, {lost} lost, {doubled} doubled"]
