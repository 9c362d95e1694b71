"""Functions that call a connector as the engine does: parse options, plan, read, stage and commit."""

import json
import pickle
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from seatunnel_core.config.option import Option, Options
from seatunnel_core.connector_api.capabilities import SupportsFacts, SupportsSaveMode
from seatunnel_core.connector_api.sink import Sink, SinkContext, SinkWriter, WriterContext
from seatunnel_core.connector_api.source import (
    Enumeration,
    Fact,
    PlanningContext,
    PollCursor,
    ReadContext,
    Source,
)
from seatunnel_core.connector_api.within_extent import writer_of
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.parts import with_parts, without_parts
from seatunnel_core.work.split import Split

__all__ = [
    "Skipped",
    "apply_save_mode",
    "begin",
    "commit",
    "finished",
    "options_of",
    "place",
    "plan",
    "read",
    "shipped",
    "sink_place",
    "stage",
    "through_checkpoint",
    "through_json",
]

T = TypeVar("T")


class Declaring(Protocol):
    """A plugin class that declares options: a source, a transform or a sink."""

    declared: tuple[Option[Any], ...]


class Skipped(ReadContext):
    """``ReadContext`` that collects facts and errors of bad rows; with ``fail``, it raises the errors."""

    def __init__(self, *, fail: bool = True) -> None:
        self.fail = fail
        self.errors: list[str] = []
        self.facts: list[Fact] = []

    def skip(self, error: Exception, rows: int = 1) -> None:
        if self.fail:
            raise error
        self.errors.extend([str(error)] * rows)

    def report_fact(self, fact: Fact) -> None:
        self.facts.append(through_json(dict(fact)))


def options_of(plugin: Declaring | type, values: Mapping[str, Any]) -> Options:
    """Parse the options of a plugin from values in configuration-file form.

    Raises:
        KeyError: The plugin does not declare a key.
        ValueError: A value has the wrong type.
    """
    declared: tuple[Option[Any], ...] = plugin.declared  # type: ignore[union-attr]
    by_key = {key: option for option in declared for key in (option.key, *option.aliases)}
    return Options({by_key[key].key: by_key[key].type.parse(value) for key, value in values.items()}, declared)


def through_json(value: T) -> T:
    """Return a body as read back from storage; fail if JSON changes it."""
    kept: T = json.loads(json.dumps(value))
    assert kept == value, f"JSON cannot store {value!r}: use strings, numbers, booleans, lists and dicts"
    return kept


def through_checkpoint(cursor: PollCursor) -> PollCursor:
    """Return a cursor as received by the first poll after a restart; the engine stores ``bytes`` outside the JSON."""
    parts: list[bytes] = []

    def store(part: bytes) -> str:
        parts.append(part)
        return f"{len(parts) - 1:064x}"

    kept: PollCursor = with_parts(through_json(without_parts(cursor, store)), lambda name: parts[int(name, 16)])
    assert kept == cursor, f"a checkpoint cannot store {cursor!r}"
    return kept


def shipped(value: T) -> T:
    """Return a value as a task receives it: pickled and unpickled."""
    return pickle.loads(pickle.dumps(value))  # type: ignore[no-any-return] # noqa: S301 - our own bytes


def plan(source: Source, planning: PlanningContext | None = None) -> Enumeration:
    """Discover, inspect and enumerate. As in the engine, the source is pickled and the items pass through JSON."""
    planning = planning or PlanningContext(parallelism=1)
    in_task = shipped(source)
    inspected = [
        through_json(dict(in_task.inspect(item, planning))) for item in map(through_json, source.discover(planning))
    ]
    found = source.enumerate(inspected, planning)
    for split in found.splits:
        through_json(dict(split.body))
    return found


def read(
    source: Source,
    found: Enumeration | None = None,
    splits: Iterable[Split] | None = None,
    context: ReadContext | None = None,
) -> list[dict[str, Any]]:
    """Return the rows of splits, in order and as dicts; by default, of all splits of a new plan.

    Args:
        source: The source; it is pickled for each split.
        found: The enumeration with the schemas and, by default, the splits.
        splits: The splits to read.
        context: Receives bad rows and facts; by default, a bad row is an error.
    """
    found = found or plan(source)
    context = context or Skipped()
    schemas = {schema.table: schema.columns for schema in found.schemas}
    rows: list[dict[str, Any]] = []
    for split in found.splits if splits is None else splits:
        for batch in shipped(source).read(split, context):
            assert batch.rows.schema.equals(schemas[batch.table]), (
                "the columns of a batch differ from those of its table"
            )
            assert batch.kinds is None or len(batch.kinds) == batch.rows.num_rows, "a batch must have one kind per row"
            rows.extend(batch.rows.to_pylist())
    if isinstance(context, Skipped) and context.facts:
        assert not source.bounded, "a bounded source is never polled, so it cannot receive facts from its readers"
        assert isinstance(source, SupportsFacts), "readers report facts, but the source does not implement absorb"
    return rows


def place(
    *, epoch: int = 1, unit: int = 1, attempt: str = "1-0", job_id: str = "job", pipeline_id: int = 1
) -> WriterContext:
    """Return a writer context like the engine's."""
    return WriterContext(
        job_id=job_id,
        pipeline_id=pipeline_id,
        sink_ordinal=0,
        source_ordinal=0,
        epoch=epoch,
        unit=unit,
        attempt=attempt,
    )


def sink_place(staging: WriterContext) -> SinkContext:
    """Return the driver-side sink context for a writer context."""
    return SinkContext(
        job_id=staging.job_id,
        pipeline_id=staging.pipeline_id,
        sink_ordinal=staging.sink_ordinal,
        epoch=staging.epoch,
    )


def apply_save_mode(sink: Sink, context: SinkContext) -> None:
    """Apply the save mode of a sink, if it supports one."""
    if isinstance(sink, SupportsSaveMode):
        sink.apply_save_mode(context)


def begin(sink: Sink, schema: TableSchema, staging: WriterContext) -> SinkWriter:
    """Create the table in the driver, and return a writer for it as in a task."""
    sink.create_tables((schema,), sink_place(staging))
    return writer_of(shipped(sink), (schema,), staging)


def stage(sink: Sink, schema: TableSchema, batches: Sequence[pa.RecordBatch], staging: WriterContext) -> Committable:
    """Stage rows as a task does; return the committable as restored from a checkpoint."""
    writer = begin(sink, schema, staging)
    for rows in batches:
        writer.write(Batch(table=schema.table, rows=rows))
    return finished(writer, staging)


def finished(writer: SinkWriter, staging: WriterContext) -> Committable:
    """Finish a writer; return its committable as restored from a checkpoint."""
    staged = writer.finish()
    return Committable(
        id=f"{staging.source_ordinal}-{staging.epoch}-{staging.unit}",
        epoch=staging.epoch,
        unit=staging.unit,
        source="source",
        rows=staged.rows,
        bytes=staged.bytes,
        body=through_json(dict(staged.body)),
        table_rows=through_json(dict(staged.table_rows)),
        tables=through_json(dict(staged.tables)),
    )


def commit(
    sink: Sink, committables: Sequence[Committable], staging: WriterContext, *, may_be_committed: bool = False
) -> None:
    """Commit committables as the driver does in this epoch."""
    sink.commit(committables, sink_place(staging), may_be_committed=may_be_committed)
