"""Encode the states of vertices as bytes, and decode them.

The format is JSON, versioned as a whole and per vertex, and canonical: equal states have equal bytes, so that storing
the same checkpoint twice is detected. It contains no executable content. It can be read without the engine.

::

    {"format": 1, "vertices": {"source NAME": {"version": 1, "state": {...}}, "task NAME": …, "sink NAME": …}}

The state of a source with cursor parts has version 2: a program without support for parts rejects
it, so it can neither omit them from a copy nor remove them as garbage.

A restore point that rolls back what was published after its base also contains that base:
``"retracting": {"epoch": 1, "checkpoint_id": 7}``.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any

from attrs import asdict, evolve

from seatunnel_core import stored
from seatunnel_core.checkpoint.errors import StateFormatError
from seatunnel_core.checkpoint.state.vertex_id import VertexId, VertexKind
from seatunnel_core.checkpoint.state.vertex_state import (
    HeldUnit,
    SinkState,
    SourceState,
    TaskState,
    VertexState,
    VertexStates,
)
from seatunnel_core.errors import StoredValueError
from seatunnel_core.work.committable import (
    committable_json,
    read_committable,
    read_table_rows,
    read_tables,
    table_rows_json,
    tables_json,
)
from seatunnel_core.work.parts import named_parts
from seatunnel_core.work.split import read_split, split_json
from seatunnel_core.work.unit import WorkUnit
from seatunnel_storage_api.state import CheckpointRef, PipelineState

FORMAT = 1
VERTEX_VERSION = 1
WITH_PARTS = 2
"""Version of the state of a source with cursor parts."""

Json = Mapping[str, Any]


def encode(states: VertexStates) -> bytes:
    """Return the canonical bytes of ``states``.

    Raises:
        StateFormatError: A split or a committable contains a value that is not JSON.
    """
    vertices = {
        **{
            str(VertexId.source(name)): _versioned(_source_json(state), _source_version(state))
            for name, state in states.sources.items()
        },
        **{str(VertexId.task(name)): _versioned(_task_json(state)) for name, state in states.tasks.items()},
        **{str(VertexId.sink(name)): _versioned(_sink_json(state)) for name, state in states.sinks.items()},
    }
    document: dict[str, Any] = {"format": FORMAT, "vertices": vertices}
    if states.retracting is not None:
        document["retracting"] = asdict(states.retracting)
    try:
        text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise StateFormatError(f"a split or a committable may carry JSON values only: {error}") from error
    return text.encode("ascii")


def decode(encoded: bytes) -> VertexStates:
    """Return the states that were passed to ``encode``.

    The vertices can continue from any state that this returns.

    Raises:
        StateFormatError: The bytes are not a state, or one of a newer version.
    """
    try:
        document = stored.parse(encoded)
        _require_version(document, "format", FORMAT, "the state")
        states: dict[VertexId, VertexState] = {}
        retracting = _read_ref(stored.member(document, "retracting")) if "retracting" in document else None
        for text, versioned in stored.below(document, "vertices").items():
            vertex = _vertex(text)
            newest = WITH_PARTS if vertex.kind is VertexKind.SOURCE else VERTEX_VERSION
            _require_version(versioned, "version", newest, f"the state of {ascii(text)[:60]}", oldest=VERTEX_VERSION)
            states[vertex] = _READERS[vertex.kind](stored.member(versioned, "state"))
    except StoredValueError as error:
        raise StateFormatError(f"the stored state is invalid: {error}") from error
    return VertexStates.of(states, retracting=retracting)


def without_staged(state: PipelineState) -> PipelineState:
    """Return a checkpoint without its staged output, all of which is published.

    Raises:
        StateFormatError: The bytes are not a state, or one of a newer version.
    """
    return evolve(state, states=encode(decode(state.states).without_staged()))


def committable_ids(states: Iterable[PipelineState]) -> frozenset[str]:
    """Return the IDs of all staged committables in the given checkpoints.

    Raises:
        StateFormatError: The bytes of one are not a state, or one of a newer version.
    """
    return frozenset(each.id for state in states for each in decode(state.states).committables())


def _vertex(text: str) -> VertexId:
    try:
        return VertexId.parse(text)
    except ValueError:
        raise StateFormatError(f"the stored state has a vertex of an unknown kind: {ascii(text)[:60]}") from None


def _require_version(block: Json, key: str, newest: int, what: str, oldest: int | None = None) -> None:
    found = stored.number(block, key)
    if not (newest if oldest is None else oldest) <= found <= newest:
        raise StateFormatError(f"{what} has version {found}; this version of the engine reads {newest}: upgrade it")


def _versioned(state: Json, version: int = VERTEX_VERSION) -> Json:
    return {"version": version, "state": state}


def _source_version(state: SourceState) -> int:
    return VERTEX_VERSION if next(named_parts(state.memory), None) is None else WITH_PARTS


def _source_json(state: SourceState) -> Json:
    """Return the state of a source in JSON.

    The form for a bounded source is the same as before unbounded sources existed.
    """
    written: dict[str, Any] = {"attachment": state.attachment, "cursor": state.cursor, "total": state.total}
    if state.memory is not None:
        written |= {"waiting": [split_json(split) for split in state.waiting], "memory": dict(state.memory)}
    return written


def _held_json(held: HeldUnit) -> Json:
    committables = held.committables
    return {
        "number": held.unit.number,
        "splits": [split_json(split) for split in held.unit.splits],
        "committables": None
        if committables is None
        else {sink: committable_json(committable) for sink, committable in committables.items()},
    }


def _task_json(state: TaskState) -> Json:
    return {
        "next_unit": state.next_unit,
        "units": [_held_json(held) for held in state.units],
        "units_done": state.units_done,
        "splits_done": state.splits_done,
        "rows_read": state.rows_read,
        "rows_written": state.rows_written,
        "bytes_read": state.bytes_read,
        "rows_skipped": state.rows_skipped,
    }


def _sink_json(state: SinkState) -> Json:
    prepared = {"prepared_in": state.prepared_in} if state.prepared_in else {}
    return (
        table_rows_json(state.table_rows)
        | tables_json("published_to", state.published_to)
        | prepared
        | {
            "save_mode_pending": state.save_mode_pending,
            "uncommitted": [committable_json(committable) for committable in state.uncommitted],
            "rows_committed": state.rows_committed,
            "bytes_committed": state.bytes_committed,
        }
    )


def _read_ref(ref: Json) -> CheckpointRef:
    return CheckpointRef(stored.number(ref, "epoch"), stored.number(ref, "checkpoint_id"))


def _read_source(state: Json) -> SourceState:
    """Return the state of a source.

    A source has started when its enumeration is frozen; then its cursor is at one of the splits or after the last.
    """
    if stored.member(state, "attachment") is None:
        if stored.number(state, "cursor") or stored.member(state, "total") is not None:
            raise StateFormatError("the stored state of a source has a position, but no enumeration")
        return SourceState()
    attachment, total = stored.text(state, "attachment"), stored.number(state, "total")
    if "memory" not in state:
        return SourceState(attachment=attachment, cursor=stored.number(state, "cursor", most=total), total=total)
    cursor = stored.number(state, "cursor")
    waiting = tuple(map(read_split, stored.items(state, "waiting")))
    first = max(cursor, total)
    if [split.index for split in waiting] != list(range(first, first + len(waiting))):
        raise StateFormatError(f"the splits that wait to be emitted are not numbered from {first} without gaps")
    memory = stored.below(state, "memory")
    tuple(named_parts(memory))  # raises for an invalid name
    return SourceState(attachment=attachment, cursor=cursor, total=total, waiting=waiting, memory=memory)


def _read_held(held: Json) -> HeldUnit:
    unit = WorkUnit(
        number=stored.number(held, "number", least=1), splits=tuple(map(read_split, stored.items(held, "splits")))
    )
    if stored.member(held, "committables") is None:
        return HeldUnit(unit=unit)
    committables = stored.below(held, "committables")
    return HeldUnit(
        unit=unit, committables={sink: read_committable(committable) for sink, committable in committables.items()}
    )


def _read_task(state: Json) -> TaskState:
    """Return the state of a task.

    Units are numbered in the order in which they were drawn, and the next one is numbered above them all (R8).
    """
    units = tuple(map(_read_held, stored.items(state, "units")))
    next_unit = stored.number(state, "next_unit", least=1)
    numbers = [held.unit.number for held in units]
    if any(later <= earlier for earlier, later in pairwise([*numbers, next_unit])):
        raise StateFormatError(f"the stored units are not numbered in order below {next_unit}, the next one")
    return TaskState(
        next_unit=next_unit,
        units=units,
        units_done=stored.number(state, "units_done"),
        splits_done=stored.number(state, "splits_done"),
        rows_read=stored.number(state, "rows_read"),
        rows_written=stored.number(state, "rows_written"),
        bytes_read=stored.number(state, "bytes_read"),
        rows_skipped=stored.number(state, "rows_skipped"),
    )


def _read_sink(state: Json) -> SinkState:
    """Return the state of a sink; reject one that contains a committable twice.

    Commits are recorded by ID, so two committables with the same ID would count as one (R1).
    """
    uncommitted = tuple(map(read_committable, stored.items(state, "uncommitted")))
    if len({committable.id for committable in uncommitted}) < len(uncommitted):
        raise StateFormatError("the stored state of a sink names one committable twice")
    return SinkState(
        save_mode_pending=stored.flag(state, "save_mode_pending"),
        prepared_in=stored.number(state, "prepared_in") if "prepared_in" in state else 0,
        uncommitted=uncommitted,
        rows_committed=stored.number(state, "rows_committed"),
        bytes_committed=stored.number(state, "bytes_committed"),
        table_rows=read_table_rows(state),
        published_to=read_tables(state, "published_to"),
    )


_READERS: Mapping[VertexKind, Callable[[Json], VertexState]] = {
    VertexKind.SOURCE: _read_source,
    VertexKind.TASK: _read_task,
    VertexKind.SINK: _read_sink,
}
