"""The simulation against a protocol that goes back in a wrong way (R10), and what it plays at all."""

from collections import Counter

import pytest

from tests.checkpoint.simulation.invariants.invariant import ViolationError
from tests.checkpoint.simulation.rewind_mutations import REWIND_MUTATIONS, RewindMutation
from tests.checkpoint.simulation.world import play

SEEDS = range(1, 400, 3)
"""Those in which somebody goes back."""


@pytest.mark.mutants
@pytest.mark.parametrize("mutation", REWIND_MUTATIONS, ids=str)
def test_a_wrong_way_back_is_found(mutation: RewindMutation) -> None:
    with mutation.broken():
        for seed in SEEDS:
            try:
                play(seed)
            except ViolationError:
                return
    pytest.fail(f"{mutation} was not noticed")


def test_starts_go_back_and_take_back() -> None:
    """No seed proves anything in which nobody goes back."""
    counts: Counter[str] = Counter()
    for seed in SEEDS[:50]:
        counts.update(play(seed).counts)
    assert counts["rewinds"] >= 10
    assert counts["retracted"] >= 10
