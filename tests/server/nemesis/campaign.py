"""One batch: a cluster, clients that use it, faults that are drawn, and the verdict."""

import contextlib
import random
import shutil
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from attrs import define, field

from tests.server.nemesis.checker import Verdict, judge
from tests.server.nemesis.clients import Clients
from tests.server.nemesis.faults import KINDS, Kind
from tests.server.nemesis.ground import PLANS, Ground, a_ground
from tests.server.nemesis.history import History, now
from tests.server.nemesis.totals import Batch, commit_of_this_tree

CLIENTS = 4
PAIRS = 0.7
"""The share of strikes that do not wait until the one before is mended."""

MOST_AT_ONCE = 2

PATIENCE_S = 8.0
"""At most so long a strike waits for a job that runs: a cluster that only starts has little to lose."""

DRAIN_S = 900.0
"""Jobs have so long to end once nothing breaks any more and all masters are warm: they have rows for half a minute at
most, and the machine may be busy. One that has not ended then is lost."""


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
    _hands: list[threading.Thread] = field(factory=list, init=False)
    _counting: threading.Lock = field(factory=threading.Lock, init=False)

    def strike(self) -> None:
        """Break one thing and return at once; it is mended after a while. At most two things are broken together."""
        while len(self._busy()) >= min(len(self.kinds), MOST_AT_ONCE if self.draw.random() < PAIRS else 1):
            time.sleep(0.1)
        end = now() + PATIENCE_S * self.draw.random()
        while "RUNNING" not in self.clients.states().values() and now() < end:
            time.sleep(0.1)
        kind = self._choose()
        lasts_s, draw = self._lasts_s(kind), random.Random(self.draw.random())
        hand = threading.Thread(target=self._hold, args=(kind, lasts_s, draw), name=kind.name, daemon=True)
        self._hands.append(hand)
        hand.start()

    def rest(self) -> None:
        """Wait until nothing is broken by this any more."""
        while self._busy():
            time.sleep(0.1)

    def _busy(self) -> list[threading.Thread]:
        self._hands = [hand for hand in self._hands if hand.is_alive()]
        return self._hands

    def _hold(self, kind: Kind, lasts_s: float, draw: random.Random) -> None:
        try:
            self._play(kind, lasts_s, draw)
        except Exception as error:
            self.clients.bugs.append(f"{kind.name} could not be played: {error!r}")

    def _play(self, kind: Kind, lasts_s: float, draw: random.Random) -> None:
        states, fault, began = set(self.clients.states().values()) or {"no job"}, kind.play(self.ground, draw), now()
        together = len(self._hands) > 1
        try:
            next(fault)
        except (LookupError, AssertionError) as error:
            print(f"  {kind.name}: not now: {error}", flush=True)
            return
        with self._counting:
            self.counts[kind.name] += 1
            self.phases.update(states)
            self.pairs += together
        told = f"{time.strftime('%H:%M:%S')} {kind.name} ({now() - began:.1f} s, then {lasts_s:.1f} s)"
        print(f"{told}{', beside another one' if together else ''}; jobs {', '.join(sorted(states))}", flush=True)
        time.sleep(lasts_s)
        next(fault, None)

    def _choose(self) -> Kind:
        """Return a kind that does not last now, one of those that were played least; equal ones are drawn."""
        lasting = {hand.name for hand in self._busy()}
        kinds = [kind for kind in self.kinds if kind.name not in lasting]
        with self._counting:
            counts = Counter(self.before) + self.counts
        return min(kinds, key=lambda kind: counts[kind.name] * kind.costs + 3 * self.draw.random())

    def _lasts_s(self, kind: Kind) -> float:
        """Return how long a fault lasts: mostly short, now and then as long as its kind may."""
        least, most = kind.lasts_s
        return least + (most - least) * self.draw.random() ** 4


def play_batch(
    folder: Path,
    plan_name: str,
    seed: int,
    minutes: float,
    before: Mapping[str, int],
    only: str = "",
    *,
    clients_count: int = CLIENTS,
    most_faults: int = sys.maxsize,
) -> tuple[Batch, Verdict]:
    """Play one batch and return what came of it. Its folder has logs, the history and the sinks.

    Args:
        folder: is made.
        plan_name: of ``PLANS``.
        seed: of all that is drawn.
        minutes: at most; the last ones are left for the jobs to end, which are followed to their ends.
        before: how often each kind has happened already.
        only: a text that the names of the kinds must have.
        clients_count: how many use the cluster.
        most_faults: that are played.
    """
    began, plan = time.monotonic(), PLANS[plan_name]
    folder.mkdir(parents=True)
    with a_ground(folder / "cluster", plan) as ground:
        kinds = [kind for kind in KINDS.values() if kind.fits(ground) and only in kind.name]
        clients = Clients(ground, History(folder / "history.jsonl"), seed)
        ground.begin()
        print(f"the cluster is warm after {time.monotonic() - began:.0f} s", flush=True)
        nemesis = Nemesis(ground, clients, random.Random(seed), before, kinds)
        clients.begin(clients_count)
        striking_until = began + max(30.0, minutes * 60 - 90)
        while time.monotonic() < striking_until and nemesis.counts.total() < most_faults:
            time.sleep(nemesis.draw.uniform(0.1, 4))
            nemesis.strike()
        nemesis.rest()
        clients.submit_no_more()
        with contextlib.suppress(AssertionError):
            ground.mend()
        left = clients.have_left(DRAIN_S)
        print(f"all is mended; {'all jobs have ended' if left else 'NOT ALL JOBS HAVE ENDED'}", flush=True)
        verdict = judge(ground, clients)
        if not left:
            verdict.problems.append(f"jobs had no end after {DRAIN_S:.0f} s: {clients.states()}")
        if verdict.problems and ground.sinks.exists():
            shutil.copytree(ground.sinks, folder / "sinks", dirs_exist_ok=True)  # their disk goes with the cluster
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
            unfinished=verdict.unfinished,
        ),
        verdict,
    )
