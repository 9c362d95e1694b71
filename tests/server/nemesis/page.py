"""Generates ``docs/evidence/nemesis.md`` from the recorded batches: ``python -m tests.server.nemesis.page``."""

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

`make nemesis MINUTES=20 SEED=7` starts a real cluster with clients, and breaks it at random moments. Clients submit
jobs with one to three sinks (files, and tables of the database if there is one), cancel some, stop some with a
savepoint and resume from it, and record each call with its answer. Some jobs are streaming jobs, which are stopped
when all their rows have arrived. At the end everything is repaired, all jobs are followed to their ends, and a
checker reads the answers, the sinks and the logs:

- every acknowledged job has exactly one final state, which stays; it failed only for a reason that was played. A
  job without one 15 minutes after all masters are warm again is lost;
- a finished job, or a streaming job that was stopped for good, has every row once in each sink; no sink of any
  other job has a row twice;
- a job whose submission was not acknowledged ran once or not at all;
- an acknowledged stop is not forgotten;
- another job with an active id is rejected;
- all slots are free, and no job remains;
- no two nodes led in one term; no agent logged a traceback.

Nodes are processes in their own network namespaces; nftables drops packets. State and checkpoints, or the data of
the database, have their own disk, a loop device, and so have the files of the sinks. A preloaded library moves a
node's wall clock, and makes its storage calls fail or hang. This takes root, `nft` and a C compiler. Without them,
such faults are omitted, and the rest runs on ports of loopback. Agents that end are restarted, as by systemd.

A job may fail for one of two reasons, which its error names: six of its worker processes in a row were killed while
their nodes lived, or it was to resume and had been stopped before it had begun. Its client submits a job of the
first kind again, and it must finish. Spark clusters of others are not played.

The seed determines cluster, jobs, faults and moments. Kinds that were played least come first, as recorded in the
state file (`STATE=…`). Half of the time two things are broken at once. `ARGS="--only storage"` selects kinds,
`ARGS="--plan workers"` a cluster:

| cluster | members |
|---|---|
"""


def page(batches: Sequence[Batch]) -> str:
    """Return the page."""
    faults = played(batches)
    lines = [f"| `{name}` | {_of_what(plan)} |" for name, plan in PLANS.items()]
    jobs, unacknowledged = sum(batch.jobs for batch in batches), sum(batch.unacknowledged for batch in batches)
    lines += [
        "",
        "## Figures",
        "",
        f"**{faults.total()} faults in {len(batches)} batches, {sum(batch.pairs for batch in batches)} of them "
        f"together with another one; {jobs} acknowledged jobs: {sum(batch.lost for batch in batches)} lost, "
        f"{sum(batch.doubled for batch in batches)} doubled, {sum(batch.unfinished for batch in batches)} still "
        f"running at the end of the time.** {unacknowledged} submissions were never acknowledged; "
        f"{sum(len(batch.problems) for batch in batches)} findings of the checker are explained in "
        "`tests/server/nemesis/played.jsonl`.",
        "`python -m tests.server.nemesis.page` generates this part.",
        "",
        *_table(("fault", *PLANS, "all"), _by_plan(batches, faults)),
        "",
        f"The goal is {AIM} faults and {AIM_OF_KIND} of each kind, which {_often(faults)} of {len(KINDS)} kinds "
        "reached.",
        "",
        *_table(("state of a job at a fault", "times"), _counted(batch.phases for batch in batches)),
        "",
        *_table(("final state of a job", "times"), _counted(batch.ends for batch in batches)),
        "",
        *_table(
            ("cluster", "batches", "minutes", "faults", "jobs", "lost", "doubled", "unfinished"),
            [_summed(plan, [batch for batch in batches if batch.plan == plan]) for plan in PLANS],
        ),
        "",
    ]
    return INTRODUCTION + "\n".join(lines).rstrip() + "\n"


def _summed(plan: str, batches: Sequence[Batch]) -> tuple[object, ...]:
    """Return the sums of a cluster's batches."""
    return (
        plan,
        len(batches),
        round(sum(batch.minutes for batch in batches)),
        sum(batch.count for batch in batches),
        sum(batch.jobs for batch in batches),
        sum(batch.lost for batch in batches),
        sum(batch.doubled for batch in batches),
        sum(batch.unfinished for batch in batches),
    )


def _of_what(plan: Plan) -> str:
    """Return the members of a cluster, and where it keeps its state."""
    others = f" and {plan.workers} workers" if plan.workers else ", which also run jobs"
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
