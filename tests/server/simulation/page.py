"""Generates the figures in ``docs/evidence/simulated-faults.md``: ``python -m tests.server.simulation.page``."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.server.nemesis.totals import ROOT
from tests.server.simulation.totals import KINDS, STATE, Batch, read_batches, summed

PAGE = ROOT / "docs/evidence/simulated-faults.md"
BEGIN, END = "## Figures\n", "## Known limit\n"


def section(batches: Sequence[Batch]) -> str:
    """Return the part of the page with the figures."""
    counts = summed(batches)
    broken = sum(len(batch.broken) for batch in batches)
    played = sum(batch.faults for batch in batches)
    ended = [key for key in sorted(counts) if key.startswith("ended ")]
    ends = ", ".join(f"{counts[key]:,} {key.removeprefix('ended ')}" for key in ended)
    kinds = [(f"`{kind}`", f"{counts[kind]:,}") for kind in KINDS]
    half = (len(kinds) + 1) // 2
    pairs = zip(kinds[:half], [*kinds[half:], ("", "")], strict=False)
    lines = [
        f"**{played:,} faults in {counts['runs']:,} runs without a violated invariant; {broken} runs violated one.** "
        f"The runs without one acknowledged {counts['acknowledged submits']:,} submissions and "
        f"{counts['acknowledged stops']:,} stops; final states of the jobs: {ends}.",
        "`python -m tests.server.simulation.page` generates this part from `tests/server/simulation/played.jsonl`. The "
        f"last batch ran {batches[-1].counts.get('runs', 0):,} runs with {batches[-1].faults:,} faults on "
        f"{batches[-1].commit}, and {len(batches[-1].broken)} of them violated an invariant.",
        "",
        *_table(("kind", "injected", "kind", "injected"), [(*one, *other) for one, other in pairs]),
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
