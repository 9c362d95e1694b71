"""What ``FakeSource`` gives in a streaming job: the rows of a batch job, some at a time."""

import time
from types import SimpleNamespace
from typing import Any

import pytest

from seatunnel_core.connector_api.source import Enumeration, PlanningContext, PollResult
from seatunnel_core.connector_api.testing import options_of, plan, read
from seatunnel_core.connector_api.testing.drive import through_json
from seatunnel_core.connectors.fake.source import FakeSource
from seatunnel_core.errors import StoredValueError

SCHEMA = {"fields": {"id": "bigint", "name": "string"}}
COUNTED = {"schema": SCHEMA, "row.num": 50, "split.num": 7, "auto.increment.enabled": True}


def source(*, streaming: bool = True, **options: Any) -> FakeSource:
    made = FakeSource(options_of(FakeSource, {**COUNTED, **options}))
    made.run_in(streaming=streaming)
    return made


def looks(of: FakeSource, planning: PlanningContext, memory: Any = None, most: int = 1_000) -> list[PollResult]:
    """Look again and again, with what a checkpoint keeps of the memory."""
    found: list[PollResult] = []
    while len(found) < most and (not found or found[-1].items):
        found.append(of.poll(through_json(dict(found[-1].cursor if found else memory or {})), planning))
    return found


def rows(of: FakeSource, polled: list[PollResult], planning: PlanningContext) -> list[Any]:
    splits = [split for each in polled for split in of.enumerate(each.items, planning).splits]
    found = Enumeration(schemas=of.planned_schemas(), splits=tuple(splits))
    return read(of, found)


@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize("interval_ms", [0, 1, 300, 5_000])
def test_it_gives_the_rows_of_a_batch_job_and_then_waits(parallelism: int, interval_ms: int) -> None:
    planning = PlanningContext(parallelism=parallelism)
    made = source(**{"split.read-interval": interval_ms})  # type: ignore[arg-type]
    assert made.enumerate((), planning).splits == ()
    polled = looks(made, planning)
    batch = source(streaming=False, **{"split.read-interval": 0})
    wanted = read(batch, plan(batch, planning))
    assert sorted(map(repr, rows(made, polled, planning))) == sorted(map(repr, wanted))
    assert polled[-1].items == ()


def test_a_split_of_each_reader_comes_per_interval() -> None:
    polled = looks(source(**{"split.read-interval": 2_000}), PlanningContext(parallelism=3))  # type: ignore[arg-type]
    assert [(len(each.items), each.again_ms) for each in polled] == [(3, 2_000)] * 7 + [(0, 60_000)]
    assert [item["start"] for item in polled[0].items] == [0, 50, 100]


def test_what_would_come_more_often_than_once_a_second_comes_together() -> None:
    polled = looks(source(**{"split.read-interval": 300}), PlanningContext(parallelism=2))  # type: ignore[arg-type]
    assert [(len(each.items), each.again_ms) for each in polled] == [(6, 900), (6, 900), (2, 900), (0, 60_000)]


def test_one_look_gives_no_more_than_a_checkpoint_may_hold() -> None:
    """Also where the memory was forged: its reader counts what it makes."""
    made, planning = source(), PlanningContext(parallelism=1)
    memory = {**made.poll({}, planning).cursor, "given": 0, "readers": 10**15, "pieces": 10**15}
    assert len(made.poll(memory, planning).items) == 10_000


def test_it_keeps_to_the_way_in_which_it_began() -> None:
    """Whoever goes on with the job may have changed its options: no row is left out, and none comes twice."""
    first, planning = source(**{"split.read-interval": 2_000}), PlanningContext(parallelism=2)  # type: ignore[arg-type]
    begun = looks(first, planning, most=3)
    other = source(**{"split.read-interval": 1, "row.num": 9, "split.num": 2})  # type: ignore[arg-type]
    rest = looks(other, PlanningContext(parallelism=5, rows_per_second=3), begun[-1].cursor)
    ids = sorted(row["id"] for row in rows(first, begun, planning) + rows(first, rest, planning))
    assert ids == list(range(1, 101))


def test_a_speed_limit_makes_smaller_splits() -> None:
    polled = looks(source(), PlanningContext(parallelism=1, rows_per_second=5))
    assert [item["rows"] for each in polled for item in each.items] == [5] * 10


def test_a_split_does_not_sleep_in_its_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """It came when it was its time; in a unit of many splits the pauses would add up."""
    pauses: list[float] = []
    clock = SimpleNamespace(**{**vars(time), "sleep": pauses.append})
    monkeypatch.setattr("seatunnel_core.connectors.fake.source.time", clock)
    made, planning = source(**{"split.read-interval": 2_000}), PlanningContext(parallelism=1)  # type: ignore[arg-type]
    polled = made.poll({}, planning)
    assert list(made.read(made.enumerate(polled.items, planning).splits[0], None))  # type: ignore[arg-type]
    assert pauses == []


@pytest.mark.parametrize("change", [{"given": -1}, {"pieces": 0}, {"readers": "2"}])
def test_a_memory_that_nobody_wrote_is_refused(change: Any) -> None:
    made, planning = source(), PlanningContext(parallelism=1)
    with pytest.raises(StoredValueError):
        made.poll({**made.poll({}, planning).cursor, **change}, planning)
