"""What the state of a cut answers: what it does not contain yet, and whether a source is through."""

import pytest

from seatunnel_core.checkpoint.state.vertex_id import VertexId
from seatunnel_core.checkpoint.state.vertex_state import HeldUnit, SinkState, SourceState, TaskState, VertexStates
from seatunnel_core.work.split import Split
from seatunnel_core.work.unit import WorkUnit

SPLITS = tuple(Split(index=index, weight_bytes=1, rows=1, body={}) for index in range(6))


def cut(cursor: int, *in_flight: Split, waiting: tuple[Split, ...] = ()) -> VertexStates:
    units = (HeldUnit(unit=WorkUnit(number=1, splits=in_flight)),) if in_flight else ()
    return VertexStates(
        sources={"in": SourceState(attachment="frozen", cursor=cursor, total=4, waiting=waiting)},
        tasks={"in": TaskState(next_unit=2, units=units)},
    )


@pytest.mark.parametrize(
    ("states", "unread"),
    [
        (cut(0), [0, 1, 2, 3]),
        (cut(2), [2, 3]),
        (cut(2, SPLITS[1]), [1, 2, 3]),
        (cut(4, SPLITS[3], waiting=SPLITS[4:]), [3, 4, 5]),
        (cut(4), []),
    ],
)
def test_what_is_in_flight_or_not_emitted_is_unread(states: VertexStates, unread: list[int]) -> None:
    assert [split.index for split in states.unread("in", SPLITS[:4])] == unread


@pytest.mark.parametrize(("states", "finished"), [(cut(0), False), (cut(1, SPLITS[0]), False), (cut(1), True)])
def test_a_source_that_has_emitted_and_has_nothing_in_flight_is_through(states: VertexStates, finished: bool) -> None:
    assert states.has_emitted_and_finished("in") is finished


def test_a_state_belongs_to_the_kind_of_its_vertex() -> None:
    states = VertexStates.of(
        {VertexId.source("a"): SourceState(), VertexId.task("a"): TaskState(), VertexId.sink("b"): SinkState()}
    )
    assert states == VertexStates(sources={"a": SourceState()}, tasks={"a": TaskState()}, sinks={"b": SinkState()})
