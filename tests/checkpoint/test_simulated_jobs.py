"""Whole jobs on the real runtime in the simulation, and the simulation against broken runtimes."""

import os
from collections.abc import Callable

import pytest

from tests.checkpoint.simulation.invariants.invariant import ViolationError
from tests.checkpoint.simulation.jobs.mutations import JOB_MUTATIONS, JobMutation
from tests.checkpoint.simulation.jobs.scenario import draw_job
from tests.checkpoint.simulation.jobs.shrink import shrink_job
from tests.checkpoint.simulation.jobs.world import play_job

SEEDS = int(os.environ.get("SEATUNNEL_JOB_SEEDS", "10"))
"""`make simulate` plays as many as one likes, and `.ci/run` 100."""

PARTS = 2
MOST_SEEDS = 600
"""So many are enough to find any one rule broken."""


@pytest.mark.simulation
@pytest.mark.parametrize("part", range(PARTS))
def test_every_rule_holds_for_every_job(part: int) -> None:
    for seed in range(part, SEEDS, PARTS):
        try:
            world = play_job(seed)
        except ViolationError as error:
            pytest.fail(f"{error}\n\n{shrink_job(draw_job(seed), error.rule)}\n\njob seed {seed}")
        assert world.manifest is not None
        assert world.manifest.ended is not None


def test_the_same_seed_gives_the_same_job() -> None:
    steps = [[(at_ms, who, type(what)) for at_ms, who, what in play_job(21).trace] for _ in range(2)]
    assert steps[0] == steps[1]


@pytest.mark.mutants
@pytest.mark.parametrize("mutation", JOB_MUTATIONS, ids=str)
def test_a_broken_runtime_is_found(mutation: JobMutation, record_property: Callable[[str, object], None]) -> None:
    with mutation.broken():
        seed, error = first_failure(mutation)
    record_property("mutant", (mutation.rule, mutation.what, f"simulated jobs, {error.rule}", f"{seed + 1} seeds"))


def first_failure(mutation: JobMutation) -> tuple[int, ViolationError]:
    for seed in range(MOST_SEEDS):
        try:
            play_job(seed)
        except ViolationError as error:
            return seed, error
    pytest.fail(f"{mutation} was not noticed in {MOST_SEEDS} seeds")


def test_a_failing_job_is_made_small() -> None:
    """What is left breaks the same rule, with less of everything."""
    mutation = next(each for each in JOB_MUTATIONS if each.what == "they are not given back")
    with mutation.broken():
        seed, error = first_failure(mutation)
        smallest = shrink_job(draw_job(seed), error.rule)
    assert smallest.rule == error.rule == "slots"
    assert len(smallest.scenario.nodes) == 2
    assert not smallest.scenario.faults.disturbances
    assert smallest.message in str(smallest)
