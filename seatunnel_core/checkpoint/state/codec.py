"""Encode the states of vertices as bytes, and decode them.

The format is JSON with a version number for the document and one for each vertex. It is canonical: equal states have
equal bytes, so storing the same checkpoint twice is detected. ::

    {"format": 1, "vertices": {"source NAME": {"version": 1, "state": {...}}, "task NAME": …, "sink NAME": …}}

The state of a source with cursor parts has version 2, so that an engine without support for parts rejects it instead of
losing them. The same applies to the state of a task with facts.

A restore point that rolls back output also contains the checkpoint to roll back to:
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
    SinkState,
    SourceState,
    TaskState,
    VertexState,
    VertexStates,
)
from seatunnel_core.errors import StoredValueError
from seatunnel_core.work.parts import named_parts
from seatunnel_storage_api.state import CheckpointRef, PipelineState

FORMAT = 1
VERTEX_VERSION = 1
WITH_PARTS = 2
"""Version of the state of a source with cursor parts."""

WITH_FACTS = 2
"""Version of the state of a task with facts (R17)."""

Json = Mapping[str, Any]


def encode(states: VertexStates) -> bytes:
    """Return the canonical bytes of ``states``.

    Raises:
        StateFormatError: A split or a committable contains a value that is not JSON.
    """
    vertices = {
        str(vertex): {"version": _version(state), "state": state.record()}
        for vertex, state in states.by_vertex().items()
    }
    document: dict[str, Any] = {"format": FORMAT, "vertices": vertices}
    if states.retracting is not None:
        document["retracting"] = asdict(states.retracting)
    try:
        text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise StateFormatError(f"a split or a committable may contain only JSON values: {error}") from error
    return text.encode("ascii")


def decode(encoded: bytes) -> VertexStates:
    """Return the states that were passed to ``encode``, after checking that they are consistent.

    Raises:
        StateFormatError: The bytes are not a valid state, or were written by a newer version.
    """
    try:
        document = stored.parse(encoded)
        _require_version(document, "format", FORMAT, "the state")
        states: dict[VertexId, VertexState] = {}
        retracting = _read_ref(stored.member(document, "retracting")) if "retracting" in document else None
        for text, versioned in stored.below(document, "vertices").items():
            vertex = _vertex(text)
            newest = _NEWEST[vertex.kind]
            _require_version(versioned, "version", newest, f"the state of {ascii(text)[:60]}", oldest=VERTEX_VERSION)
            states[vertex] = _READERS[vertex.kind](stored.member(versioned, "state"))
    except StoredValueError as error:
        raise StateFormatError(f"the stored state is invalid: {error}") from error
    return VertexStates.of(states, retracting=retracting)


def without_staged(state: PipelineState) -> PipelineState:
    """Return the checkpoint without staged output. Call it only if all of that output is published."""
    return evolve(state, states=encode(decode(state.states).without_staged()))


def committable_ids(states: Iterable[PipelineState]) -> frozenset[str]:
    """Return the IDs of all committables in the given checkpoints."""
    return frozenset(each.id for state in states for each in decode(state.states).committables())


def _vertex(text: str) -> VertexId:
    try:
        return VertexId.parse(text)
    except ValueError:
        raise StateFormatError(f"the stored state has a vertex of an unknown kind: {ascii(text)[:60]}") from None


def _require_version(block: Json, key: str, newest: int, what: str, oldest: int | None = None) -> None:
    found = stored.number(block, key)
    if not (newest if oldest is None else oldest) <= found <= newest:
        raise StateFormatError(
            f"{what} has version {found}, but this engine supports versions up to {newest}: upgrade the engine"
        )


def _version(state: VertexState) -> int:
    if isinstance(state, SourceState) and any(named_parts(state.memory)):
        return WITH_PARTS
    if isinstance(state, TaskState) and (state.facts or [held for held in state.units if held.facts]):
        return WITH_FACTS
    return VERTEX_VERSION


def _read_ref(ref: Json) -> CheckpointRef:
    return CheckpointRef(stored.number(ref, "epoch"), stored.number(ref, "checkpoint_id"))


def _read_source(block: Json) -> SourceState:
    """Decode the state of a source; reject a cursor outside its enumeration."""
    state = SourceState.from_record(block)
    if state.attachment is None:
        if state.cursor or state.total is not None:
            raise StateFormatError("the stored state of a source has a position, but no enumeration")
        return SourceState()
    total = stored.number(block, "total")
    if "memory" not in block:
        stored.number(block, "cursor", most=total)
        return evolve(state, waiting=())
    first = max(state.cursor, total)
    waiting = [split["index"] for split in stored.items(block, "waiting")]
    if waiting != list(range(first, first + len(waiting))):
        raise StateFormatError(f"the splits that wait to be emitted are not numbered from {first} without gaps")
    tuple(named_parts(stored.below(block, "memory")))  # raises for an invalid name
    return state


def _read_task(block: Json) -> TaskState:
    """Decode the state of a task; reject unit numbers that are not increasing or not below the next number (R8)."""
    state = TaskState.from_record(block)
    numbers = [held.unit.number for held in state.units]
    if any(later <= earlier for earlier, later in pairwise([*numbers, state.next_unit])):
        raise StateFormatError(
            f"the numbers of the stored units must increase and be less than the next unit number, {state.next_unit}"
        )
    return state


def _read_sink(block: Json) -> SinkState:
    """Decode the state of a sink; reject a duplicate committable ID, because commits are recorded by ID (R1)."""
    state = SinkState.from_record(block)
    if len({committable.id for committable in state.uncommitted}) < len(state.uncommitted):
        raise StateFormatError("the stored state of a sink contains the same committable twice")
    return state


_NEWEST = {VertexKind.SOURCE: WITH_PARTS, VertexKind.TASK: WITH_FACTS, VertexKind.SINK: VERTEX_VERSION}

_READERS: Mapping[VertexKind, Callable[[Json], VertexState]] = {
    VertexKind.SOURCE: _read_source,
    VertexKind.TASK: _read_task,
    VertexKind.SINK: _read_sink,
}
