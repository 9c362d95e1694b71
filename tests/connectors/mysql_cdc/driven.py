"""A source of changes driven without an engine: polls, splits and reports in their order, and a strict target."""

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from attrs import define, field

from seatunnel_core.connector_api.batch import Batch
from seatunnel_core.connector_api.source import PlanningContext, PollCursor, ReadContext
from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connector_api.values import Split
from seatunnel_core.connectors.mysql_cdc.source import MySQLCdcSource
from seatunnel_core.rows.kind import RowKind


class Reports(ReadContext):
    """Keeps the facts of a split."""

    def __init__(self) -> None:
        self.facts: list[Mapping[str, Any]] = []

    def skip(self, error: Exception, rows: int = 1) -> None:
        raise error

    def report_fact(self, fact: Mapping[str, Any]) -> None:
        self.facts.append(fact)


@define
class StrictTarget:
    """Rows by table and key. Every change has to fit the rows that are there."""

    keys: Mapping[str, Sequence[str]]
    rows: dict[str, dict[tuple[Any, ...], dict[str, Any]]] = field(factory=dict)
    strict: bool = True

    def add(self, batch: Batch) -> None:
        rows = self.rows.setdefault(batch.table, {})
        kinds = [RowKind.INSERT] * batch.rows.num_rows if batch.kinds is None else batch.kinds.to_pylist()
        for kind, row in zip(kinds, batch.rows.to_pylist(), strict=True):
            key = tuple(row[name] for name in self.keys[batch.table])
            if kind in (RowKind.INSERT, RowKind.UPDATE_AFTER):
                if self.strict and key in rows:
                    raise AssertionError(f"{batch.table}: {key} arrives twice: {rows[key]}, {row}")
                rows[key] = row
            else:
                had = rows.pop(key, None)
                if self.strict and had != row:
                    raise AssertionError(f"{batch.table}: {row} is removed, and {had} is there")


@define
class DrivenSource:
    """A source, and what an engine keeps of it."""

    options: Mapping[str, Any]
    parallelism: int = 2
    cursor: PollCursor = field(factory=dict)
    _source: MySQLCdcSource = field(init=False)
    on_split: Callable[[Split], None] = lambda split: None
    writes_directly: bool = False
    """True if the rows go to a sink that writes directly."""

    warnings: list[str] = field(factory=list)
    """Warnings of all polls."""

    def __attrs_post_init__(self) -> None:
        self._source = MySQLCdcSource(options_of(MySQLCdcSource, self.options))
        self._source.open(restored=bool(self.cursor))

    @property
    def source(self) -> MySQLCdcSource:
        return self._source

    @property
    def keys(self) -> dict[str, tuple[str, ...]]:
        return {each.table: each.primary_key for each in self._source.planned_schemas()}

    def turn(self) -> tuple[list[Batch], bool]:
        """Poll once, and read everything. The second value is true if the source has ended."""
        splits, ended = self.plan()
        return self.read(splits), ended

    def plan(self) -> tuple[Sequence[Split], bool]:
        """Poll once. The second value is true if the source has ended."""
        planning = PlanningContext(parallelism=self.parallelism, writes_directly=self.writes_directly)
        found = self._source.poll(self.cursor, planning)
        self.cursor = found.cursor
        self.warnings += found.warnings
        return self._source.enumerate(found.items, planning).splits, found.again_ms is None

    def read(self, splits: Sequence[Split]) -> list[Batch]:
        """Read splits, and add their reports to the cursor."""
        copy = pickle.loads(pickle.dumps(self._source))
        batches: list[Batch] = []
        for split in splits:
            self.on_split(split)
            reports = Reports()
            batches += copy.read(split, reports)
            self.cursor = self._source.absorb(self.cursor, reports.facts)
        return batches

    def batches(self) -> Iterator[Batch]:
        """Yield the rows until the source ends."""
        ended = False
        while not ended:
            some, ended = self.turn()
            yield from some
