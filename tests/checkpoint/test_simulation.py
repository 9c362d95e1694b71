"""The protocol in the simulation, and the simulation against broken protocols."""

import os
import re
from collections.abc import Callable

import pytest

from tests.checkpoint.simulation.fact_mutations import FACT_MUTATIONS
from tests.checkpoint.simulation.invariants.invariant import ViolationError
from tests.checkpoint.simulation.mutation import Mutation
from tests.checkpoint.simulation.mutations import MUTATIONS, newest_checkpoints_are_lost
from tests.checkpoint.simulation.order_mutations import ORDER_MUTATIONS
from tests.checkpoint.simulation.scenario import draw
from tests.checkpoint.simulation.shrink import shrink
from tests.checkpoint.simulation.world import World, play

SEEDS = int(os.environ.get("SEATUNNEL_SEEDS", "200"))
"""`make simulate` plays as many as one likes, and `.ci/run` 1,000."""

PARTS = 4
MOST_SEEDS = 400
"""So many are enough to find any one rule broken."""


@pytest.mark.simulation
@pytest.mark.parametrize("part", range(PARTS))
def test_every_rule_holds_for_every_seed(part: int) -> None:
    finished = 0
    for seed in range(part, SEEDS, PARTS):
        try:
            finished += len(play(seed).finished_engines) > 0
        except ViolationError as error:
            pytest.fail(f"{error}\n\n{shrink(draw(seed), error.rule)}\n\nseed {seed}")
    assert finished == len(range(part, SEEDS, PARTS))


@pytest.mark.simulation
def test_lost_checkpoints_are_refused_until_they_are_back() -> None:
    refused = sum(play(seed, newest_checkpoints_are_lost).counts["refused"] for seed in range(SEEDS // 4))
    assert refused


def test_the_same_seed_gives_the_same_run() -> None:
    assert play(11).story() == play(11).story()


@pytest.mark.mutants
@pytest.mark.parametrize("mutation", [*MUTATIONS, *ORDER_MUTATIONS, *FACT_MUTATIONS], ids=str)
def test_a_broken_rule_is_found(mutation: Mutation, record_property: Callable[[str, object], None]) -> None:
    """Whatever rule is broken on purpose, a few hundred seeds are enough, and it is an invariant that finds it: a
    pipeline that refuses an event of its own does not count, because it need not come to that."""
    with mutation.broken():
        seed, error = first_failure(mutation)
    record_property("mutant", (mutation.rule, mutation.what, f"the simulation, {error.rule}", f"{seed + 1} seeds"))


def first_failure(mutation: Mutation) -> tuple[int, ViolationError]:
    rules = {invariant.rule for invariant in World(draw(0)).invariants} | {"R1", "R2", "liveness"}
    for seed in range(MOST_SEEDS):
        try:
            play(seed, mutation.prepare)
        except ViolationError as error:
            if error.rule in rules:
                return seed, error
    pytest.fail(f"{mutation} was not noticed in {MOST_SEEDS} seeds")


@pytest.mark.parametrize(
    "what",
    ["forget the cursor", pytest.param("store without looking at the fence", marks=pytest.mark.mutants)],
)
def test_a_failing_seed_is_reported_as_a_short_story(what: str) -> None:
    """What is left breaks the same rule, has no more than the rule needs, and is told in numbered sentences."""
    mutation = next(mutation for mutation in MUTATIONS if mutation.what == what)
    with mutation.broken():
        seed, error = first_failure(mutation)
        smallest = shrink(draw(seed), error.rule, mutation.prepare)
    assert smallest.rule == error.rule
    assert len(smallest.scenario.topology.sources) == len(smallest.scenario.topology.sinks) == 1
    assert sum(smallest.scenario.splits.values()) <= 3
    assert len(smallest.scenario.faults.disturbances) <= 1
    lines = smallest.story.splitlines()
    assert [int(re.match(r" *(\d+)\. ", line)[1]) for line in lines] == [*range(1, len(lines) + 1)]  # type: ignore[index]
    assert len(lines) <= 120
    assert f"{smallest}".startswith(smallest.story)
    assert smallest.message in str(smallest)
