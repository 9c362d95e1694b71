"""One batch: a cluster, clients that use it, faults that are drawn, and the verdict."""

import contextlib
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from attrs import define, field

from tests.server.nemesis.checker import Verdict, judge
from tests.server.nemesis.clients import Clients
from tests.server.nemesis.faults import KINDS, Kind
from tests.server.nemesis.ground import PLANS, Ground, a_ground
from tests.server.nemesis.history import History
from tests.server.nemesis.totals import Batch, commit_of_this_tree

CLIENTS = 4
PAIRS = 0.4
"""The share of strikes in which two things break."""

DRAIN_S = 300.0
"""Jobs have so long to end once nothing breaks any more."""


@define(eq=False)
class Nemesis:
    """Breaks things by a seed, those first that were broken least, and counts.

    Args:
        ground: what it breaks.
        clients: whose jobs show the phase.
        draw: decides.
        before: how often each kind has happened in earlier batches.
        kinds: which it may draw.
    """

    ground: Ground
    clients: Clients
    draw: random.Random
    before: Mapping[str, int]
    kinds: list[Kind]
    counts: Counter[str] = field(factory=Counter, init=False)
    phases: Counter[str] = field(factory=Counter, init=False)
    pairs: int = field(default=0, init=False)

    def strike(self) -> None:
        """Break one thing or two, wait, and mend them in any order."""
        chosen = self._choose(2 if self.draw.random() < PAIRS else 1)
        broken: list[Iterator[None]] = []
        lasts_s = max(self._lasts_s(kind) for kind in chosen)
        for kind in chosen:
            states = set(self.clients.states().values()) or {"no job"}
            fault = kind.play(self.ground, self.draw)
            began = time.monotonic()
            try:
                next(fault)
            except (LookupError, AssertionError) as error:
                print(f"  {kind.name}: not now: {error}", flush=True)
                continue
            broken.append(fault)
            self.counts[kind.name] += 1
            self.phases.update(states)
            print(f"{time.strftime('%H:%M:%S')} {kind.name} ({time.monotonic() - began:.1f} s), "
                  f"{', '.join(sorted(states))}", flush=True)  # fmt: skip
            time.sleep(self.draw.uniform(0, 2) if len(chosen) > 1 else 0)
        self.pairs += len(broken) > 1
        time.sleep(lasts_s)
        self.draw.shuffle(broken)
        for fault in broken:
            next(fault, None)

    def _choose(self, count: int) -> list[Kind]:
        """Return kinds that have been played least, of which equal ones are drawn."""
        order = sorted(
            self.kinds, key=lambda kind: self.before.get(kind.name, 0) + self.counts[kind.name] + 3 * self.draw.random()
        )
        return order[:count]

    def _lasts_s(self, kind: Kind) -> float:
        """Return how long a fault lasts: mostly short, now and then as long as its kind may."""
        least, most = kind.lasts_s
        return least + (most - least) * self.draw.random() ** 4


def play_batch(
    folder: Path, plan_name: str, seed: int, minutes: float, before: Mapping[str, int], only: str = ""
) -> tuple[Batch, Verdict]:
    """Play one batch and return what came of it. Its folder has logs, the history and the sinks.

    Args:
        folder: is made.
        plan_name: of ``PLANS``.
        seed: of all that is drawn.
        minutes: at most; the last ones are left for the jobs to end.
        before: how often each kind has happened already.
        only: a text that the names of the kinds must have.
    """
    began, plan = time.monotonic(), PLANS[plan_name]
    folder.mkdir(parents=True)
    with a_ground(folder / "cluster", plan) as ground:
        kinds = [kind for kind in KINDS.values() if kind.fits(ground) and only in kind.name]
        clients = Clients(ground, History(folder / "history.jsonl"), seed)
        ground.begin()
        print(f"the cluster is warm after {time.monotonic() - began:.0f} s", flush=True)
        nemesis = Nemesis(ground, clients, random.Random(seed), before, kinds)
        clients.begin(CLIENTS)
        striking_until = began + max(30.0, minutes * 60 - 90)
        while time.monotonic() < striking_until:
            time.sleep(nemesis.draw.uniform(0.1, 2))
            nemesis.strike()
        clients.submit_no_more()
        with contextlib.suppress(AssertionError):
            ground.mend()
        left = clients.have_left(DRAIN_S)
        print(f"all is mended; {'all jobs have ended' if left else 'NOT ALL JOBS HAVE ENDED'}", flush=True)
        verdict = judge(ground, clients, may_fail=False)
        if not left:
            verdict.problems.append(f"jobs had no end after {DRAIN_S:.0f} s: {clients.states()}")
        by_itself = {member.node.address: member.ended_by_itself for member in ground.members if member.ended_by_itself}
        if by_itself:
            print(f"agents ended by themselves and were started again: {by_itself}", flush=True)
    return (
        Batch(
            commit=commit_of_this_tree(),
            plan=plan_name,
            seed=seed,
            minutes=round((time.monotonic() - began) / 60, 1),
            faults=dict(nemesis.counts),
            pairs=nemesis.pairs,
            phases=dict(nemesis.phases),
            jobs=verdict.jobs,
            unacknowledged=verdict.unacknowledged,
            ends=dict(verdict.ends),
            lost=verdict.lost,
            doubled=verdict.doubled,
            slowest_stop_s=round(verdict.slowest_stop_s, 1),
            problems=verdict.problems,
        ),
        verdict,
    )
