"""Which runs there are: what each kills, and when."""

import random
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from tests.cdc.captured import DATABASES
from tests.cdc.keys import KEYS
from tests.cdc.run import KilledRun
from tests.cdc.steps import Step, between_steps, log_steps, publication_steps, snapshot_steps

VICTIMS = ("driver", "driver", "session", "worker")
KILLS_OF_A_RUN = 6
Each = TypeVar("Each")


def plan(number: int, database: str, folder: Path, rng: random.Random, kills: int = KILLS_OF_A_RUN) -> KilledRun:
    """Return the run with this number. The numbers go round the steps, so that many runs reach all of them."""
    captured = DATABASES[database]()
    early, late, published = snapshot_steps(captured), log_steps(captured), publication_steps()
    chosen = [_in_turn(early, (kills // 3) * number + each) for each in range(kills // 3)]
    if number % 3 == 0:
        chosen.append(_in_turn(between_steps(captured), number // 3))
    chosen += [_in_turn(late, number + each) for each in range(kills // 6)]
    chosen += [_in_turn(published, (kills // 2) * number + each) for each in range(kills - len(chosen))]
    return KilledRun(
        number=number,
        captured=captured,
        folder=folder / f"run-{number}",
        steps=tuple(_of_a_victim(step, rng) for step in chosen),
        keys=_in_turn(sorted(KEYS), number),
        interval_ms=rng.choice((150, 300, 600)),
    )


def play(number: int, database: str, folder: Path, seed: int, kills: int = KILLS_OF_A_RUN) -> KilledRun:
    """Play a run; its folder stays if anything is wrong."""
    run = plan(number, database, folder, random.Random(f"{seed}-{number}-{database}"), kills).play()
    if not run.fault:
        shutil.rmtree(run.folder, ignore_errors=True)
    return run


def counts(runs: Sequence[KilledRun]) -> str:
    """Return the number of kills by database, phase and step."""
    reached = [(run.captured.name, kill.step) for run in runs for kill in run.kills if kill.reached]
    missed = sum(not kill.reached for run in runs for kill in run.kills)
    steps = Counter((step.phase, step.name) for _, step in reached)
    databases = sorted({run.captured.name for run in runs})
    lines = [
        "",
        f"{len(runs)} runs, {sum(not run.fault for run in runs)} with target = source and the sum always zero; "
        f"{len(reached)} kills at their step, {missed} elsewhere; {sum(run.transactions for run in runs):,} "
        f"transactions, {sum(run.looks for run in runs):,} looks at the sum",
        f"  {'step':44s}" + "".join(f"{name:>13s}" for name in databases),
    ]
    for phase, name in sorted(steps):
        numbers = (sum(step.name == name and each == database for each, step in reached) for database in databases)
        lines.append(f"  {phase + ': ' + name:44s}" + "".join(f"{number:13d}" for number in numbers))
    victims = Counter(step.victim for _, step in reached)
    lines += [f"  {number:4d}  killed: {victim}" for victim, number in sorted(victims.items())]
    return "\n".join(lines)


def _in_turn(of: Sequence[Each], number: int) -> Each:
    return of[number % len(of)]


def _of_a_victim(step: Step, rng: random.Random) -> Step:
    in_worker = step.phase in ("in a chunk", "in a range", "staging", "in a correction") or "confirm" in step.name
    victim = rng.choice(VICTIMS if in_worker else VICTIMS[:-1])
    return step.by(victim, 1 if step.phase in ("sweep", "between chunk and log") else rng.randint(1, 3))
