"""Tests that kill a two-phase sink at any line, and recover it in another process (protocol rules R4, R8 and R9)."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from seatunnel_core.connector_api.capabilities import SupportsComplete
from seatunnel_core.connector_api.sink import Sink
from seatunnel_core.connector_api.testing.drive import begin, commit, place, sink_place, stage
from seatunnel_core.connector_api.testing.killing import Killing, code_of
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.work.committable import Committable

__all__ = ["SinkKills"]

SCHEMA = TableSchema(table="default", columns=pa.schema([("id", pa.int64()), ("name", pa.string())]))

_UNITS = (1, 2, 3)
_ROWS = 3
"""Number of rows in a unit."""


class SinkKills(ABC):
    """Tests of ``SinkConformance`` that kill the sink; each attempt is a separate job with the same target."""

    sink_class: type[Sink]
    kills = 25
    """Number of kill points, spread evenly over the lines that the sink executes; each kill runs three processes."""

    @abstractmethod
    def visible(self) -> Sequence[Mapping[str, Any]]:
        """Return the rows that are currently visible to readers of the target."""

    @abstractmethod
    def staged(self) -> int:
        """Return the number of staged files, tables or uploads."""

    @abstractmethod
    def sink(self) -> Sink:
        """Return a new sink for the options."""

    def test_killed_between_any_two_lines_it_has_every_row_once(self) -> None:
        """Kill a job, kill the process that recovers it, and let a third process run to completion."""
        lines = _Life(self, 0).live(epoch=1).lines
        assert lines, "no line of the sink's module was executed"
        moments = sorted({1 + number * (lines - 1) // max(1, self.kills - 1) for number in range(self.kills)})
        killed = {}
        for job, moment in enumerate(moments, 1):
            life = _Life(self, job)
            first = life.live(epoch=1, kill_at=moment).place
            second = life.live(epoch=2, kill_at=1 + moment * 7 % lines).place
            life.live(epoch=3)
            killed[job] = f"killed in {first}; then in {second or 'no line'}"
            assert self.staged() == 0, f"{killed[job]}: staged output remains"
        found = Counter(int(row["id"]) for row in self.visible())
        for job, where in killed.items():
            of_job = Counter({number: count for number, count in found.items() if number // 1000 == job})
            assert of_job == Counter(number for unit in _UNITS for number in _ids(job, unit)), f"{where}: rows differ"

    def test_an_abort_leaves_nothing(self) -> None:
        """Abort writers with no rows, one batch and three batches."""
        for unit, batches in enumerate((0, 1, 3), 1):
            sink = self.sink()
            sink.prepare(sink_place(place()))
            writer = begin(sink, SCHEMA, place(unit=unit))
            for number in range(batches):
                writer.write(Batch(table=SCHEMA.table, rows=numbered(number * 10, 5)))
            writer.abort()
            assert (self.staged(), list(self.visible())) == (0, [])


class _Life:
    """A simulated job: its processes and its checkpoints."""

    def __init__(self, suite: SinkKills, number: int) -> None:
        self._suite = suite
        self._number = number
        self._stored: list[Committable] = []
        self._done: set[int] = set()
        self._ended = False

    def live(self, *, epoch: int, kill_at: int | None = None) -> Killing:
        """Run a process that restores the latest checkpoint, and takes a checkpoint after each unit."""
        with Killing(code_of(self._suite.sink_class, Sink), kill_at) as killing:
            self._run(epoch)
        return killing

    def _run(self, epoch: int) -> None:
        sink, here = self._suite.sink(), place(epoch=epoch, job_id=f"job-{self._number}")
        if not self._ended:
            sink.prepare(sink_place(here))
            if self._stored:
                commit(sink, self._stored, here, may_be_committed=True)
            sink.sweep(sink_place(here), frozenset(each.id for each in self._stored), final=False)
            for unit in (unit for unit in _UNITS if unit not in self._done):
                self._run_unit(sink, epoch, unit)
            if isinstance(sink, SupportsComplete):
                sink.complete(sink_place(here))
            sink.sweep(sink_place(here), frozenset(), final=True)
            self._ended = True
            sink.clear(sink_place(here))

    def _run_unit(self, sink: Sink, epoch: int, unit: int) -> None:
        here = place(epoch=epoch, unit=unit, attempt=f"1-{unit}", job_id=f"job-{self._number}")
        first = _ids(self._number, unit)[0]
        committable = stage(sink, SCHEMA, [numbered(first, 1), numbered(first + 1, _ROWS - 1)], here)
        self._stored = [committable]
        self._done.add(unit)
        commit(sink, [committable], here)


def _ids(job: int, unit: int) -> range:
    first = job * 1000 + unit * 10
    return range(first, first + _ROWS)


def numbered(start: int, count: int) -> pa.RecordBatch:
    """Return ``count`` rows of ``SCHEMA`` with consecutive ids from ``start``."""
    rows = [{"id": number, "name": f"name {number}"} for number in range(start, start + count)]
    return pa.RecordBatch.from_pylist(rows, schema=SCHEMA.columns)
