"""R13: units of a serial source that commute run at the same time, and no others."""

import pytest
from attrs import evolve

from seatunnel_core.checkpoint import commands
from seatunnel_core.checkpoint.state import codec
from seatunnel_core.checkpoint.state.topology import Topology
from seatunnel_core.checkpoint.state.vertex_state import HeldUnit
from seatunnel_core.checkpoint.vertices.in_flight import UnitInFlight
from seatunnel_core.checkpoint.vertices.limits import Limits
from seatunnel_core.checkpoint.vertices.turns import in_turn
from seatunnel_core.work.unit import WorkUnit
from tests.checkpoint.played import KEYED, ORDERED, SERIAL, Played, held, splits, states

SIX = Limits(target_unit_rows=1, credits_per_source=6)
TWO_READERS = Topology(sources=tuple(evolve(each, parallelism=2) for each in KEYED.sources), sinks=KEYED.sinks)


def keyed(keys: str, topology: Topology = KEYED, limits: Limits = SIX) -> Played:
    played = Played(topology, limits=limits)
    played.run(len(keys), keys=keys)
    return played


def unit_keys(played: Played) -> list[str]:
    """The keys of the units that were begun, each unit as one text."""
    units = [command.attempt.unit for command in played.ever(commands.RunUnit)]
    return ["".join(split.ordering_key or "-" for split in unit.splits) for unit in units]


def test_units_with_different_keys_run_at_the_same_time_and_those_with_one_key_in_their_order() -> None:
    played = keyed("abacb")
    assert played.running == [1, 2, 4]
    played.finish(2)
    assert played.running == [5], "3 waits for 1, and 5 only for 2"
    played.finish(4)
    assert played.running == []
    played.finish(1)
    assert played.running == [3]


def test_nothing_waits_for_a_finished_unit() -> None:
    units = [WorkUnit(number=number, splits=splits(3, keys="aaa")[number - 1 : number]) for number in (1, 2, 3)]
    flights = [UnitInFlight(units[0], finished={}), UnitInFlight(units[1]), UnitInFlight(units[2])]
    assert list(in_turn(flights, keyed=True)) == [flights[1]]


def test_a_unit_without_a_key_runs_alone() -> None:
    played = keyed("ab-ab")
    assert played.running == [1, 2]
    played.finish(2)
    assert played.running == []
    played.finish(1)
    assert played.running == [3]
    played.finish(3)
    assert played.running == [4, 5]


def test_a_unit_with_splits_of_both_kinds_runs_alone() -> None:
    """As one reader gets it, and a job that is resumed with several readers."""
    before = Played(SERIAL, limits=Limits(target_unit_rows=2, credits_per_source=6))
    before.run(6, keys="aab-cc")
    stored = before.checkpoint()
    assert [unit.unit.ordering_keys for unit in states(stored).tasks["in"].units] == [{"a"}, frozenset(), {"c"}]
    played = Played(KEYED, limits=SIX, epoch=2)
    played.run(6, stored=stored, keys="aab-cc")
    for number in (1, 2, 3):
        assert played.running == [number]
        played.finish(number)


def test_nothing_with_its_key_passes_a_unit_that_waits_for_its_retry() -> None:
    played = keyed("abab")
    assert played.running == [1, 2]
    played.fail(1)
    played.finish(2)
    assert played.running == [4], "3 has the key of unit 1, whose retry would write older rows over its own"
    played.at(500).fire("retry:in:1")
    assert played.running == [1]
    played.finish(1, attempt=2)
    assert played.running == [3]


def test_no_more_run_at_once_than_there_are_readers() -> None:
    played = keyed("abcd", TWO_READERS)
    assert played.running == [1, 2]
    played.finish(2)
    assert played.running == [3]


def test_results_of_units_that_commute_need_not_wait_for_each_other() -> None:
    """What is in the target already would only be written again after a crash."""
    played = keyed("abc")
    played.finish(3)
    assert played.protocol.progress().uncommitted == 1
    assert held(played.checkpoint()) == [1, 2]


def test_keys_do_not_count_where_a_sink_needs_the_whole_order() -> None:
    played = keyed("abc", SERIAL)
    assert played.running == [1]


def test_what_was_in_flight_runs_again_by_its_keys() -> None:
    before = keyed("abab")
    before.finish(2)
    stored = before.checkpoint()
    assert [unit.unit.ordering_keys for unit in states(stored).tasks["in"].units] == [{"a"}, {"a"}, {"b"}]
    played = Played(KEYED, limits=SIX, epoch=2)
    played.run(4, stored=stored, keys="abab")
    assert played.running == [1, 4]


def test_splits_of_earlier_versions_run_in_their_order_before_what_has_keys() -> None:
    """Also what they held back for order: it is written again."""
    before = Played(ORDERED, limits=Limits(target_unit_rows=1, credits_per_source=3))
    before.run(3)
    before.finish(2)
    stored = before.checkpoint()
    assert held(stored) == [1, 2, 3]
    assert b"ordering_key" not in stored.states
    loaded = states(stored)
    (task,) = loaded.tasks.values()
    with_keys = WorkUnit(number=4, splits=splits(4, keys="a")[3:])
    later = evolve(task, units=(*task.units, HeldUnit(unit=with_keys)), next_unit=5)
    sources = {name: evolve(each, cursor=4, total=4) for name, each in loaded.sources.items()}
    states_of_both = evolve(loaded, tasks={"in": later}, sources=sources)
    played = Played(KEYED, limits=SIX, epoch=2)
    played.run(4, stored=evolve(stored, states=codec.encode(states_of_both)))
    for number in (1, 2, 3):
        assert played.running == [number]
        played.finish(number)
    assert played.running == [4]


@pytest.mark.parametrize(
    ("keys", "units"),
    [
        ("aaaabbbb", ["aaaa", "bbbb"]),
        ("aaabbbbb", ["aaa", "bbbb", "b"]),
        ("abababab", ["ab", "ab", "ab", "ab"]),
        ("abcdabcd", ["ab", "cd", "ab", "cd"]),
        ("aa--a---", ["aa", "--", "a", "---"]),
    ],
)
def test_large_units_have_one_key_and_small_ones_may_have_several(keys: str, units: list[str]) -> None:
    """A unit holds four of these splits, and one with several keys only two."""
    limits = Limits(target_unit_bytes=40, smallest_unit_bytes=20, target_unit_rows=100, units_per_reader=1)
    played = Played(TWO_READERS, limits=limits)
    played.run(8, keys=keys, weight_bytes=10)
    for number in range(1, 9):
        played.finish(number)
    assert unit_keys(played) == units


def test_one_reader_gets_units_as_large_as_without_keys() -> None:
    topology = Topology(sources=tuple(evolve(each, parallelism=1) for each in KEYED.sources), sinks=KEYED.sinks)
    played = Played(topology, limits=Limits(target_unit_bytes=40, smallest_unit_bytes=20, units_per_reader=1))
    played.run(4, keys="ab-a", weight_bytes=10)
    assert unit_keys(played) == ["ab-a"]
