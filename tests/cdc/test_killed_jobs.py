"""Jobs that capture changes, killed with ``kill -9`` under a storm: ``make torture-cdc`` plays many of them."""

import os
import random
from pathlib import Path

import pytest

from tests.cdc.__main__ import torture
from tests.cdc.campaign import KILLS_OF_A_RUN, plan
from tests.cdc.captured import DATABASES, EACH, Captured
from tests.cdc.run import KilledRun
from tests.cdc.steps import Step, between_steps, log_steps, publication_steps, snapshot_steps

pytestmark = [pytest.mark.spark, pytest.mark.servers, pytest.mark.torture]

KILLS = int(os.environ.get("SEATUNNEL_KILLS", "200"))
NUMBER = 7_000
"""Number of the first short run; those of campaigns count from zero."""


def every_step(captured: Captured) -> tuple[Step, ...]:
    """Return all steps of a database."""
    return (*snapshot_steps(captured), *between_steps(captured), *log_steps(captured), *publication_steps())


def step(database: str, name: str, victim: str = "driver", nth: int = 1) -> Step:
    """Return the step with this name."""
    captured = DATABASES[database]()
    every = every_step(captured)
    (found,) = [each for each in every if each.name == name]
    return found.by(victim, nth)


SHORT = {
    "postgres": ("rows of a chunk read", "range read, not staged", "commit begins"),
    "mariadb": ("mark taken", "rows of a range read", "committed, not noticed"),
    "mysql": ("chunk read, not staged", "checkpoint stored"),
    "mysql-gtids": ("correction read", "a table moved"),
}
"""The kills of the short runs: each database, and most phases."""


@pytest.mark.timeout(600)
@pytest.mark.parametrize("database", EACH)
def test_a_killed_job_copies_every_change_once(tmp_path: Path, database: str) -> None:
    run = KilledRun(
        number=NUMBER + sorted(SHORT).index(database),
        captured=DATABASES[database](),
        folder=tmp_path / "run",
        steps=[step(database, name) for name in SHORT[database]],
        rows=240,
        reached_within_s=120.0,  # every process reaches its step, later on a loaded machine
    ).play()
    assert not run.fault, run.line()
    assert run.looks
    assert all(kill.reached for kill in run.kills), run.line()


@pytest.mark.long
@pytest.mark.timeout(14_400)
def test_many_killed_jobs_copy_every_change_once() -> None:
    runs = torture(range(-(-KILLS // KILLS_OF_A_RUN)), sorted(DATABASES), seed=20_261_128)
    assert not [run.line() for run in runs if run.fault]
    assert sum(kill.reached for run in runs for kill in run.kills) >= KILLS * 3 // 4


def test_plans_go_round_all_steps(tmp_path: Path) -> None:
    for database in DATABASES:
        captured = DATABASES[database]()
        wanted = {each.name for each in every_step(captured)}
        planned = {
            each.name for number in range(20) for each in plan(number, database, tmp_path, random.Random(1)).steps
        }
        assert planned == wanted
