"""``python -m tests.server.nemesis.page``: what was played, as ``docs/evidence/nemesis.md`` shows it."""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.server.nemesis.faults import KINDS
from tests.server.nemesis.ground import PLANS, Plan
from tests.server.nemesis.totals import ROOT, STATE, Batch, played, read_batches

PAGE = ROOT / "docs/evidence/nemesis.md"

AIM, AIM_OF_KIND = 400, 10

INTRODUCTION = """# Nemesis

`make nemesis MINUTES=20 SEED=7` starts a real cluster, lets clients use it, and breaks it at random moments. Clients
submit jobs of one to three sinks (files, and tables of the database where there is one), cancel some, stop some
with a savepoint, submit some again from there, and write down each call with its answer. Some jobs are in streaming
mode: they have no end of their own, and are stopped for good when all of their rows have come. In the end everything
is mended, all jobs are followed to their ends, and a checker reads what clients were told, what lies in the sinks, and
what the nodes have logged:

- every acknowledged job has exactly one end, which stays; it failed only for a reason that was played. One that has
  none within 15 minutes after all masters are warm again is lost;
- a job that has finished, or a streaming job that was stopped for good, has every row once in each of its sinks; in
  the sinks of any other job no row is there twice;
- a job whose submit was not acknowledged ran once or not at all;
- a stop that was acknowledged is not forgotten;
- another job under an active id is refused;
- all slots are free, and no job is left;
- no two nodes led in one term; no agent logged a traceback.

Nodes are processes in network namespaces of their own; packets are dropped by nftables. The state and the
checkpoints, or the data of the database, lie on a disk of their own, a loop device, and the files of the sinks on
another one. A library that is loaded before
the C library moves a node's wall clock, and makes its calls to the storage fail or hang. Where this cannot be had,
which takes root, `nft` and a C compiler, such kinds of faults are left out, and the rest is played on ports of
loopback. Agents that end by themselves are started again, as systemd does it.

A job may fail here for one of two reasons, which its error says: six of its hosts in a row were killed while their
nodes lived, or it was to go on and had been stopped before it had begun. Its client submits a job of the first kind
again, and it then has to finish. Not played: a Spark cluster of others.

What it has found, each with a test since: two masters that started in the same moment refused each other; a job failed
for good when its storage did not answer in the moment in which it began; a full disk, met when it was opened, was taken
for a wrong folder; a Spark that was killed while it started was logged as a bug; a job failed whose nodes were killed
six times in a row, and one whose storage was read-only for a moment; a driver had PostgreSQL warn of each unit of rows;
a node that was stopped while it waited for the leader's answer logged a traceback.

A batch takes at most 20 minutes, its seed draws the cluster, the jobs, the faults and the moments, and kinds that
were played least come first: the state file (`STATE=…`) knows them. Half of the time two things are broken together.
`ARGS="--only storage"` plays some kinds alone, `ARGS="--plan workers"` chooses the cluster:

| cluster | of what |
|---|---|
"""


def page(batches: Sequence[Batch]) -> str:
    """Return the page."""
    faults = played(batches)
    lines = [f"| `{name}` | {_of_what(plan)} |" for name, plan in PLANS.items()]
    jobs, unacknowledged = sum(batch.jobs for batch in batches), sum(batch.unacknowledged for batch in batches)
    lines += [
        "",
        "## The running total",
        "",
        f"**{faults.total()} faults in {len(batches)} batches, {sum(batch.pairs for batch in batches)} of them beside "
        f"another one; {jobs} acknowledged jobs: {sum(batch.lost for batch in batches)} lost, "
        f"{sum(batch.doubled for batch in batches)} doubled, {sum(batch.unfinished for batch in batches)} still ran "
        f"when their time was over.** {unacknowledged} submits were never acknowledged. Since seed 403, such jobs are "
        "followed for 15 minutes instead of 5, and counted as lost if they have no end then.",
        "This part is written by `python -m tests.server.nemesis.page`.",
        "",
        *_table(("fault", *PLANS, "all"), _by_plan(batches, faults)),
        "",
        f"The aim is {AIM} faults, each kind at least {AIM_OF_KIND} times; {_often(faults)} of {len(KINDS)} kinds have "
        "been played so often.",
        "",
        *_table(("state of a job when something broke", "times"), _counted(batch.phases for batch in batches)),
        "",
        *_table(("end of a job", "times"), _counted(batch.ends for batch in batches)),
        "",
        *_table(
            ("commit", "cluster", "seed", "minutes", "faults", "jobs", "lost", "doubled", "unfinished", "wrong"),
            [
                (b.commit, b.plan, b.seed, b.minutes, b.count, b.jobs, b.lost, b.doubled, b.unfinished, len(b.problems))
                for b in batches
            ],
        ),
        "",
        *(f"- Seed {b.seed}: {b.note}" for b in batches if b.note),
        "",
    ]
    return INTRODUCTION + "\n".join(lines).rstrip() + "\n"


def _of_what(plan: Plan) -> str:
    """Return the members of a cluster, and where it keeps its state."""
    others = f" and {plan.workers} workers" if plan.workers else ", which run jobs, too"
    return f"{plan.masters} masters{others}; the state in {plan.database or 'files'}"


def _often(faults: Counter[str]) -> int:
    """Return how many kinds were played as often as is aimed at."""
    return sum(faults[name] >= AIM_OF_KIND for name in KINDS)


def _by_plan(batches: Sequence[Batch], faults: Counter[str]) -> list[tuple[object, ...]]:
    by_plan = {name: played([batch for batch in batches if batch.plan == name]) for name in PLANS}
    return [(name, *(by_plan[plan][name] for plan in PLANS), faults[name]) for name in sorted(faults)]


def _counted(counts: Iterable[dict[str, int]]) -> list[tuple[object, ...]]:
    return sorted(sum((Counter(each) for each in counts), Counter[str]()).items())


def _table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    return [f"| {' | '.join(str(cell) for cell in row)} |" for row in (heads, ["---"] * len(heads), *rows)]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.server.nemesis.page", description=__doc__)
    parser.add_argument("--state", type=Path, default=STATE, help="the file that keeps what was played")
    arguments = parser.parse_args(argv)
    PAGE.write_text(page(read_batches(arguments.state)), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
