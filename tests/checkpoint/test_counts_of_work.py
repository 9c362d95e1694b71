"""What a unit and a checkpoint cost the protocol in calls and in memory that stays: counts, alike on each machine."""

import gc
import sys
from collections.abc import Callable

from seatunnel_core.checkpoint import events
from seatunnel_core.checkpoint.decisions.trigger import CheckpointPolicy
from seatunnel_core.checkpoint.vertices.limits import Limits
from seatunnel_core.work.unit import AttemptId
from tests.bench.coordinator import answer_all, running, trigger
from tests.checkpoint.played import Played, committable
from tests.figures import Figure

UNITS = 600


def finish(played: Played, units: range) -> None:
    """Each unit's result, and everything that follows."""
    for number in units:
        result = events.UnitFinished(
            now_ms=number,
            task="in",
            attempt=AttemptId(unit=number, epoch=1, number=1),
            rows_read=250_000,
            bytes_read=32_000_000,
            rows_skipped=0,
            committables={"out": committable(number)},
        )
        answer_all(played.protocol.handle, played.protocol.handle(result))


def checkpoint(played: Played) -> None:
    answer_all(played.protocol.handle, played.protocol.handle(trigger(1_000_000)))


def calls(work: Callable[[], None]) -> int:
    """How many functions of Python it calls."""
    count = 0

    def count_call(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(count_call)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def kept(work: Callable[[], None]) -> int:
    """How many more blocks of memory are in use behind it."""
    gc.collect()
    before = sys.getallocatedblocks()
    work()
    gc.collect()
    return sys.getallocatedblocks() - before


def pipeline(units: int) -> Played:
    return running(units, Limits(target_unit_rows=1), CheckpointPolicy(interval_ms=None))


def test_what_a_unit_costs_does_not_grow(figure: Figure) -> None:
    played = pipeline(3 * UNITS)
    finish(played, range(1, UNITS + 1))
    checkpoint(played)
    early = calls(lambda: finish(played, range(UNITS + 1, UNITS + 101))) / 100
    finish(played, range(UNITS + 101, 2 * UNITS + 1))
    late = calls(lambda: finish(played, range(2 * UNITS + 1, 2 * UNITS + 101))) / 100
    figure(f"a work unit costs the protocol {late:.0f} calls")
    assert late <= 1.1 * early, "a unit costs more the later it comes"
    assert late <= 70


def test_what_is_published_leaves_nothing_behind(figure: Figure) -> None:
    played = pipeline(3 * UNITS)

    def some(units: range) -> None:
        finish(played, units)
        checkpoint(played)

    some(range(1, UNITS + 1))
    blocks = kept(lambda: some(range(UNITS + 1, 2 * UNITS + 1))) / UNITS
    figure(f"a work unit that is published leaves {blocks:.1f} blocks of memory")
    assert blocks <= 0


def test_a_checkpoint_costs_by_what_is_in_flight(figure: Figure) -> None:
    small, large = pipeline(100), pipeline(200)
    few, many = calls(lambda: checkpoint(small)), calls(lambda: checkpoint(large))
    figure(f"a checkpoint of 100 splits costs the protocol {few} calls, one of 200 {many}")
    assert many <= 2 * few
    assert few <= 700
