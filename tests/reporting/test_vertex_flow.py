"""Load of vertices: which one slows the others down."""

from seatunnel_core.reporting.vertex_flow import VertexFlow
from seatunnel_core.work.vertex_work import VertexWork


def flow_of(unit: dict[str, VertexWork]) -> VertexFlow:
    """Return a flow to which a unit was added every five seconds."""
    now = [0.0]
    flow = VertexFlow(3, lambda: now[0])
    for _ in range(5):
        now[0] += 5
        flow.worked(unit)
        flow.sample()
    now[0] += 5
    flow.worked(unit)
    return flow


def test_a_slow_sink_puts_back_pressure_on_what_stands_before_it() -> None:
    loads = flow_of(
        {
            "in": VertexWork(0, 100, 500, 4_500),
            "sql": VertexWork(100, 50, 500, 4_000),
            "out": VertexWork(50, 0, 4_000, 0),
        }
    ).loads()
    assert (loads["in"].rows_out, loads["out"].rows_in) == (600, 300)
    assert (loads["in"].busy, loads["sql"].busy, loads["out"].busy) == (0.1, 0.1, 0.8)
    assert (loads["in"].back_pressure, loads["sql"].back_pressure, loads["out"].back_pressure) == (0.9, 0.8, 0.0)
    assert loads["sql"].rows_out_per_second == 50 * 3 / 15


def test_tasks_side_by_side_are_not_busy_more_than_all_the_time() -> None:
    loads = flow_of({"in": VertexWork(0, 1, 10_000, 30_000), "out": VertexWork(1, 0, 30_000, 0)}).loads()
    assert (loads["in"].busy, loads["out"].busy, loads["in"].back_pressure) == (0.25, 0.75, 0.75)


def test_a_pipeline_that_has_little_to_do_is_idle_and_not_under_pressure() -> None:
    loads = flow_of({"in": VertexWork(0, 1, 5, 45), "out": VertexWork(1, 0, 45, 0)}).loads()
    assert (loads["in"].busy, loads["in"].back_pressure, loads["out"].busy) == (0.001, 0.009, 0.009)


def test_a_vertex_without_work_in_the_last_minute_has_no_load() -> None:
    flow = VertexFlow(2, lambda: 0.0)
    flow.worked({"in": VertexWork(0, 1, 1, 1)})
    flow.sample()
    flow.sample()
    assert (flow.loads()["in"].rows_out, flow.loads()["in"].back_pressure) == (1, 0.0)
