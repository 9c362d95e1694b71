"""The speed limit of a source, played under a virtual clock: what is read in any stretch of time."""

import heapq
import itertools
from collections.abc import Callable, Iterable, Sequence

import pytest

from seatunnel_core.checkpoint import commands, events
from seatunnel_core.checkpoint.decisions.trigger import CheckpointPolicy
from seatunnel_core.checkpoint.pipeline import PipelineProtocol
from seatunnel_core.checkpoint.state import codec
from seatunnel_core.checkpoint.state.topology import SinkSpec, SourceSpec, Topology
from seatunnel_core.checkpoint.vertices.limits import Limits
from seatunnel_core.work.split import Split
from seatunnel_core.work.unit import AttemptId, UnitAttempt, WorkUnit
from tests.checkpoint.played import Played

WINDOW_MS = 30_000


def limited(names: Iterable[str], rows_per_second: int | None, bytes_per_second: int | None) -> Topology:
    """Sources with these limits, and the one sink of all of them."""
    return Topology(
        sources=tuple(
            SourceSpec(
                name=name,
                ordinal=ordinal,
                sinks=("out",),
                parallelism=64,
                rows_per_second=rows_per_second,
                bytes_per_second=bytes_per_second,
            )
            for ordinal, name in enumerate(names)
        ),
        sinks=(SinkSpec(name="out", ordinal=0),),
    )


class Reading:
    """Plays one pipeline until it ends or the time is over, and notes what is read when.

    ``actual`` is how many rows a split really has, where its estimate is wrong; a byte is a row here. Every unit takes
    ``unit_ms``; every timer fires ``late_ms`` late, as on a busy machine.
    """

    def __init__(
        self,
        splits: Sequence[int],
        *,
        rows_per_second: int | None = None,
        bytes_per_second: int | None = None,
        actual: Callable[[int], int] = lambda estimate: estimate,
        unit_ms: int = 300,
        late_ms: int = 0,
        interval_ms: int | None = None,
        sources: int = 1,
        epoch: int = 1,
    ) -> None:
        self.read: dict[str, list[tuple[int, int]]] = {f"in-{number}": [] for number in range(sources)}
        """By source: when, and how many rows."""

        self.checkpoint_ms: list[int] = []
        """From each trigger to the store that follows."""

        self.now_ms = 0
        self._actual, self._unit_ms, self._late_ms = actual, unit_ms, late_ms
        self._splits = tuple(
            Split(index=index, weight_bytes=rows, rows=rows, body={}) for index, rows in enumerate(splits)
        )
        topology = limited(self.read, rows_per_second, bytes_per_second)
        policy = CheckpointPolicy(interval_ms=interval_ms)
        self._played = Played(topology, policy=policy, limits=Limits(), epoch=epoch)
        self._numbers = itertools.count()
        self._agenda: list[tuple[int, int, Callable[[], object]]] = []
        self._timers: dict[str, int] = {}
        self._triggered_ms: dict[int, int] = {}

    def play(self, until_ms: int = 10**9, *, stored: commands.PipelineState | None = None) -> "Reading":  # type: ignore[name-defined]
        self._played.stored(self._played.begin(stored).checkpoint_id)
        self._do(self._tell(events.SinksPrepared(now_ms=0)))
        while self._agenda and self._agenda[0][0] <= until_ms:
            self.now_ms, _, action = heapq.heappop(self._agenda)
            self._do(action())  # type: ignore[arg-type]
        return self

    def snapshot(self) -> commands.PipelineState:  # type: ignore[name-defined]
        return self._played.at(self.now_ms).checkpoint()

    @property
    def protocol(self) -> PipelineProtocol:
        return self._played.protocol

    def most_in_a_window(self, source: str = "in-0") -> int:
        """The most rows that were read within any ``WINDOW_MS``."""
        read = self.read[source]
        return max(sum(rows for at, rows in read if start <= at < start + WINDOW_MS) for start, _ in read)

    def least_in_a_window(self, source: str = "in-0") -> int:
        """The fewest, of the windows that lie between the first and the last reading."""
        read = self.read[source]
        starts = [at + 1 for at, _ in read if at + WINDOW_MS < read[-1][0]]
        return min(sum(rows for at, rows in read if start <= at < start + WINDOW_MS) for start in starts)

    def _tell(self, event: events.Event) -> Sequence[commands.Command]:
        return self._played.at(self.now_ms).deliver(event)

    def _after(self, pause_ms: int, action: Callable[[], object]) -> None:
        heapq.heappush(self._agenda, (self.now_ms + pause_ms, next(self._numbers), action))

    def _do(self, said: Sequence[commands.Command]) -> None:
        for command in said:
            match command:
                case commands.SetTimer(key=key, at_ms=at_ms):
                    self._timers[key] = at_ms
                    pause_ms = max(0, at_ms - self.now_ms) + self._late_ms
                    self._after(pause_ms, lambda key=key, at_ms=at_ms: self._fire(key, at_ms))  # type: ignore[misc]
                case commands.CancelTimer(key=key):
                    self._timers.pop(key, None)
                case commands.Sweep():
                    self._after(0, lambda: self._tell(events.Swept(now_ms=0, removed=0)))
                case commands.Enumerate(source=source):
                    frozen = events.Enumerated(now_ms=0, source=source, splits=self._splits, attachment="frozen")
                    self._after(0, lambda frozen=frozen: self._tell(frozen))  # type: ignore[misc]
                case commands.RunUnit(task=task, attempt=UnitAttempt(unit=unit)):
                    self._run(task, unit)
                case commands.CheckpointTriggered(checkpoint_id=checkpoint_id):
                    self._triggered_ms[checkpoint_id] = self.now_ms
                case commands.StoreCheckpoint(state=state):
                    self.checkpoint_ms.append(self.now_ms - self._triggered_ms[state.checkpoint_id])
                    self._after(5, lambda ref=state.ref: self._tell(events.CheckpointStored(now_ms=0, ref=ref)))  # type: ignore[misc]
                case commands.Commit(sink=sink, committables=committables):
                    ids = tuple(each.id for each in committables)
                    committed = events.CommitSucceeded(now_ms=0, sink=sink, ids=ids)
                    self._after(5, lambda committed=committed: self._tell(committed))  # type: ignore[misc]

    def _fire(self, key: str, at_ms: int) -> Sequence[commands.Command]:
        if self._timers.get(key) != at_ms:
            return ()
        del self._timers[key]
        return self._tell(events.TimerFired(now_ms=0, key=key))

    def _run(self, task: str, unit: WorkUnit) -> None:
        rows = sum(self._actual(split.rows) for split in unit.splits)
        self.read[task].append((self.now_ms, rows))
        finished = events.UnitFinished(
            now_ms=0,
            task=task,
            attempt=AttemptId(unit=unit.number, epoch=self._played.epoch, number=1),
            rows_read=rows,
            bytes_read=rows,
            rows_skipped=0,
            committables={},
        )
        self._after(self._unit_ms, lambda: self._tell(finished))


def in_all(reading: Reading, source: str = "in-0") -> int:
    return sum(rows for _, rows in reading.read[source])


@pytest.mark.parametrize("limit", ["rows_per_second", "bytes_per_second"])
@pytest.mark.parametrize(
    ("per_second", "split_rows", "how"),
    [
        (1_000, 1_000, {}),
        (1_000, 100, {}),
        (1_000, 7, {}),
        (999, 500, {"late_ms": 20}),
        (1_000, 10, {"late_ms": 5}),
        (1_000_000, 9_000, {"late_ms": 3}),
        (3, 2, {}),
        # Estimates that are wrong, found out soon or late.
        (1_000, 1_000, {"actual": lambda rows: rows * 6 // 10}),
        (1_000, 1_000, {"actual": lambda rows: rows // 2, "unit_ms": 700}),
        (1_000, 500, {"actual": lambda rows: rows * 14 // 10, "unit_ms": 900}),
        (1_000, 200, {"actual": lambda rows: rows // 2, "late_ms": 10}),
    ],
)
def test_the_limit_is_kept_and_used_up(limit: str, per_second: int, split_rows: int, how: dict[str, object]) -> None:
    """In 30 s, within 5 % or one split, of which each is read at full speed."""
    wanted = per_second * WINDOW_MS // 1000
    actual = how.get("actual", lambda rows: rows)
    count = -(-2 * wanted // actual(split_rows))  # type: ignore[operator]
    reading = Reading([split_rows] * count, **{limit: per_second}, **how).play()  # type: ignore[arg-type]
    assert in_all(reading) == count * actual(split_rows), "everything was read in the end"  # type: ignore[operator]
    slack = max(wanted // 20, actual(split_rows))  # type: ignore[operator]
    assert reading.most_in_a_window() <= wanted + slack
    assert reading.least_in_a_window() >= wanted - slack


def test_it_begins_with_one_split_and_not_with_all_readers_at_once() -> None:
    reading = Reading([1_000] * 20, rows_per_second=1_000).play(until_ms=900)
    assert in_all(reading) == 1_000


def test_an_idle_stretch_is_made_up_for_by_a_moment_only() -> None:
    """All credits are out for 10 s; when they come back, what 200 ms allow is emitted, and one split in advance."""
    source = SourceSpec(name="in", ordinal=0, sinks=("out",), parallelism=9, rows_per_second=10)
    played = Played(Topology(sources=(source,), sinks=(SinkSpec(name="out", ordinal=0),)))
    played.run(40)
    for at_ms in (100, 200, 300):
        played.at(at_ms).fire("emit:in")
    emitted = []
    for unit in (1, 2, 3, 4):
        played.at(10_000).finish(unit)
        emitted += played.running
    assert emitted == [5, 6, 7]


def test_each_source_has_the_limit_for_itself() -> None:
    reading = Reading([500] * 200, rows_per_second=1_000, sources=3).play()
    for source in reading.read:
        assert reading.most_in_a_window(source) <= 31_500
        assert reading.least_in_a_window(source) >= 28_500


def test_a_checkpoint_does_not_wait_for_the_limit() -> None:
    """The next split may be emitted in 100 s; a checkpoint is due every second."""
    reading = Reading([1_000] * 3, rows_per_second=10, interval_ms=1_000).play(until_ms=90_000)
    assert in_all(reading) == 1_000
    assert len(reading.checkpoint_ms) >= 85
    assert set(reading.checkpoint_ms) == {0}


def test_what_a_restored_pipeline_reads_again_counts() -> None:
    """Three units were in flight at a crash and run again at once; what follows waits until that is paid."""
    before = Reading([1_000] * 60, rows_per_second=1_000, unit_ms=10**6).play(until_ms=2_500)
    stored = before.snapshot()
    assert len(codec.decode(stored.states).tasks["in-0"].units) == 3
    after = Reading([1_000] * 60, rows_per_second=1_000, epoch=2).play(until_ms=2_500, stored=stored)
    assert in_all(after) == 3_000
    after = Reading([1_000] * 60, rows_per_second=1_000, epoch=2).play(until_ms=5_500, stored=stored)
    assert in_all(after) == 6_000
