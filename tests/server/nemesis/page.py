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

`make nemesis MINUTES=20 SEED=7` starts a real cluster with clients, and injects faults at random times. Clients submit
jobs with one to three sinks (files, and tables of the database if there is one), cancel some, stop some with a
savepoint and resume from it, and record each request with its response. Some jobs are streaming jobs, which are
stopped when all their rows have arrived. At the end all faults are removed, the test waits until all jobs have ended,
and a checker reads the responses, the sinks and the logs:

- every acknowledged job has exactly one final state, which does not change; it fails only because of an injected
  fault. A job without a final state 15 minutes after all masters are ready again counts as lost;
- a finished job, or a streaming job that was stopped and not resumed, has every row once in each sink; no sink of any
  other job has a row twice;
- a job whose submission was not acknowledged ran once or not at all;
- an acknowledged request to stop a job takes effect;
- another job with an active ID is rejected;
- all slots are free, and no job remains;
- no two nodes led in one term; no agent logged a traceback.

Nodes are processes in their own network namespaces; nftables drops packets. State and checkpoints, or the data of
the database, have their own disk, a loop device, and so have the files of the sinks. An `LD_PRELOAD` library shifts a
node's wall clock, and makes its storage calls fail or hang. This requires root, `nft` and a C compiler. Without them,
such faults are omitted, and the rest runs on loopback ports. Agents that end are restarted, as by systemd.

A job may fail for one of two reasons, which its error contains: six of its worker processes in a row were killed while
their nodes were running, or it was resumed although it had been stopped before it started. In the first case, the
client resubmits the job, which must then finish. External Spark clusters are not tested.

The seed determines the cluster, the jobs, the faults and their times. Faults with the fewest runs are chosen first,
as recorded in the state file (`STATE=…`). Half of the time two faults are injected at once. `ARGS="--only storage"`
selects faults, `ARGS="--plan workers"` a cluster:

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
        "## Results",
        "",
        f"**{faults.total():,} faults in {len(batches)} batches, {sum(batch.pairs for batch in batches):,} of them "
        f"concurrently with another fault; {jobs} acknowledged jobs: {sum(batch.lost for batch in batches)} lost, "
        f"{sum(batch.doubled for batch in batches)} with duplicates, {sum(batch.unfinished for batch in batches)} "
        f"still running at the end.** {unacknowledged} submissions were never acknowledged; "
        f"{sum(len(batch.problems) for batch in batches)} findings of the checker are explained in "
        "`tests/server/nemesis/played.jsonl`.",
        "`python -m tests.server.nemesis.page` generates this part.",
        "",
        *_table(("fault", *PLANS, "all"), _by_plan(batches, faults)),
        "",
        f"The goal is {AIM} faults, and {AIM_OF_KIND} of each kind, which {_often(faults)} of {len(KINDS)} kinds "
        "reached.",
        "",
        *_table(("state of a job at a fault", "count"), _counted(batch.phases for batch in batches)),
        "",
        *_table(("final state of a job", "count"), _counted(batch.ends for batch in batches)),
        "",
        *_table(
            ("cluster", "batches", "minutes", "faults", "jobs", "lost", "with duplicates", "unfinished"),
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
