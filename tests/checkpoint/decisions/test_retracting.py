"""What a rewind takes back, and what shows that a checkpoint newer than the base is gone."""

from seatunnel_core.work.retraction import Retraction

BASE = Retraction(
    epoch=300, base_epoch=200, next_units={0: 7}, in_flight={0: frozenset({4})}, named=frozenset({"0-200-3"})
)


def test_a_unit_that_the_base_does_not_know_as_finished_shows_a_missing_checkpoint() -> None:
    assert BASE.misses("0-200-7"), "numbered after the base"
    assert BASE.misses("0-200-4"), "in flight in the base"
    assert BASE.misses("0-250-2"), "of an epoch after the base's"


def test_what_the_base_knows_shows_nothing() -> None:
    assert not BASE.misses("0-200-3"), "the base names it"
    assert not BASE.misses("0-200-2"), "finished before the base"
    assert not BASE.misses("0-300-9"), "of the start itself"


def test_what_older_epochs_left_proves_nothing() -> None:
    assert not BASE.misses("0-100-9")
