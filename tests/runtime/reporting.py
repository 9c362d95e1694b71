"""A source whose readers report facts: a table that is read in chunks, and then its log from where each was read."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from seatunnel_core.config.option import BOOLEAN, LONG, Option, Options
from seatunnel_core.connector_api.source import (
    DiscoveredObject,
    Enumeration,
    Fact,
    PlanningContext,
    PollCursor,
    PollResult,
    ReadContext,
    Source,
)
from seatunnel_core.registry import lookup
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.work.split import Split

LOG = 1_000
SCHEMA = TableSchema(table="chunks", columns=pa.schema([("id", pa.int64()), ("position", pa.int64())]))
_POSITIONS = itertools.count(1)
"""Positions in the log. Each reading of a chunk has its own."""


class Chunks(Source):
    """One row for each chunk and, later, one from the log, both with the position at which the chunk was read."""

    identifier = "Chunks"
    declared = (
        Option("chunks", LONG, required=True, doc="Number of chunks."),
        Option("in_order", BOOLEAN, default=False, doc="True if rows keep their order."),
    )
    bounded = False
    ordered: bool  # type: ignore[misc]

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.ordered = options["in_order"]

    def enumerate(self, inspected: Sequence[DiscoveredObject], planning: PlanningContext) -> Enumeration:
        splits = (Split(index=at, weight_bytes=16, rows=1, body=dict(item)) for at, item in enumerate(inspected))
        return Enumeration(schemas=(SCHEMA,), splits=tuple(splits))

    def poll(self, cursor: PollCursor, planning: PlanningContext) -> PollResult:
        """Return the next chunks, and the log of those whose positions are known."""
        given = cursor.get("given", 0)
        positions: Mapping[str, int] = cursor.get("positions", {})
        logged: Sequence[int] = cursor.get("logged", ())
        chunks = range(given, min(given + 3, self.options["chunks"]))
        ready = [number for number in map(int, positions) if number not in logged]
        logs = [{"chunk": number, "position": positions[str(number)]} for number in ready]
        after = {"given": given + len(chunks), "positions": positions, "logged": [*logged, *ready]}
        ended = len(after["logged"]) == self.options["chunks"]
        items = (*({"chunk": number} for number in chunks), *logs)
        return PollResult(items=items, cursor=after, again_ms=None if ended else 20)

    def absorb(self, cursor: PollCursor, facts: Sequence[Fact]) -> PollCursor:
        positions = dict(cursor.get("positions", {}))
        for fact in facts:
            assert str(fact["chunk"]) not in positions, f"the fact of chunk {fact['chunk']} arrived twice"
            positions[str(fact["chunk"])] = fact["position"]
        return {**cursor, "positions": positions}

    def read(self, split: Split, context: ReadContext) -> Iterator[Batch]:
        chunk, position = split.body["chunk"], split.body.get("position")
        if position is None:
            position = next(_POSITIONS)
            context.report_fact({"chunk": chunk, "position": position})
        else:
            chunk += LOG
        yield Batch(table="chunks", rows=pa.record_batch([[chunk], [position]], schema=SCHEMA.columns))


class Silent(Chunks):
    """A later version of the source, which does not know of facts."""

    identifier = "Silent"
    absorb = None  # type: ignore[assignment]


class Registry:
    """The installed plugins, and these sources."""

    _own = {"chunks": Chunks, "silent": Silent}  # noqa: RUF012

    def source(self, identifier: str) -> Any:
        return self._own.get(identifier.lower()) or lookup.source(identifier)

    def transform(self, identifier: str) -> Any:
        return lookup.transform(identifier)

    def sink(self, identifier: str) -> Any:
        return lookup.sink(identifier)
