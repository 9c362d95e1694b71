"""The time that a task spends in each vertex."""

from seatunnel_core.work.vertex_meter import VertexMeter
from seatunnel_core.work.vertex_work import VertexWork


def test_time_is_charged_to_the_vertex_that_was_entered_last() -> None:
    now = [0.0]
    meter = VertexMeter(lambda: now[0])
    for vertex, seconds in (("in", 1.0), ("sql", 2.0), ("out", 6.0), ("in", 1.0), ("", 50.0), ("out", 2.0)):
        meter.enter(vertex)
        now[0] += seconds
    meter.leave()
    meter.gave("in", 10)
    meter.took("sql", 10)
    behind = {"in": frozenset({"sql", "out"}), "sql": frozenset({"out"})}
    assert meter.work(behind) == {
        "in": VertexWork(0, 10, 2_000, 10_000),
        "sql": VertexWork(10, 0, 2_000, 8_000),
        "out": VertexWork(0, 0, 8_000, 0),
    }


def test_the_time_of_a_vertex_that_still_runs_counts() -> None:
    now = [10.0]
    meter = VertexMeter(lambda: now[0])
    meter.enter("out")
    now[0] += 5
    assert meter.work({}) == {"out": VertexWork(0, 0, 5_000, 0)}
    assert meter.work({}) == {"out": VertexWork(0, 0, 5_000, 0)}
