"""``python -m tests.server.simulation.page``: what was played, as ``docs/evidence/simulated-faults.md`` shows it."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.server.nemesis.totals import ROOT
from tests.server.simulation.totals import KINDS, STATE, Batch, read_batches, summed

PAGE = ROOT / "docs/evidence/simulated-faults.md"
BEGIN, END = "## What was played\n", "## What it found\n"


def section(batches: Sequence[Batch]) -> str:
    """Return the part of the page that says what was played."""
    counts = summed(batches)
    broken = sum(len(batch.broken) for batch in batches)
    played = sum(batch.faults for batch in batches)
    ended = [key for key in sorted(counts) if key.startswith("ended ")]
    ends = ", ".join(f"{counts[key]:,} {key.removeprefix('ended ')}" for key in ended)
    kinds = [(f"`{kind}`", f"{counts[kind]:,}") for kind in KINDS]
    half = (len(kinds) + 1) // 2
    pairs = zip(kinds[:half], [*kinds[half:], ("", "")], strict=False)
    lines = [
        f"**{played:,} faults in {counts['runs']:,} runs in which no rule was broken; {broken} runs broke one.** "
        f"In the former {counts['acknowledged submits']:,} submits and {counts['acknowledged stops']:,} stops were "
        f"acknowledged; jobs ended as {ends}.",
        "This part is written by `python -m tests.server.simulation.page`, "
        "from `tests/server/simulation/played.jsonl`.",
        "",
        *_table(("kind", "played", "kind", "played"), [(*one, *other) for one, other in pairs]),
        "",
        *_table(
            ("commit", "seeds", "runs", "faults", "rules broken"),
            [
                (b.commit, f"{b.first} to {b.next - 1}", b.counts.get("runs", 0), f"{b.faults:,}", len(b.broken))
                for b in batches
            ],
        ),
        "",
        *(f"- {text.partition(', at')[0]} of {b.commit} broke a rule" for b in batches for text in b.broken),
        "",
    ]
    return BEGIN + "\n" + "\n".join(lines).rstrip() + "\n\n"


def _table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    return [f"| {' | '.join(str(cell) for cell in row)} |" for row in (heads, ["---"] * len(heads), *rows)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.server.simulation.page", description=__doc__)
    parser.add_argument("--state", type=Path, default=STATE, help="the file that keeps what was played")
    batches = read_batches(parser.parse_args().state)
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    PAGE.write_text(before + section(batches) + END + rest.partition(END)[2], "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
