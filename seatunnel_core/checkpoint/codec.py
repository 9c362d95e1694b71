"""States of vertices to bytes, and back.

The format is JSON, versioned as a whole and per vertex, and canonical: equal states give equal bytes, so that storing
the same checkpoint twice is recognised. Nothing in it can execute. People may read it.

::

    {"format": 1, "vertices": {"source NAME": {"version": 1, "state": {...}}, "task NAME": …, "sink NAME": …}}

A restore point that takes back what was published after its base also names that base:
``"retracting": {"epoch": 1, "checkpoint_id": 7}``.
"""

import json
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from attrs import asdict

from seatunnel_core import stored
from seatunnel_core.checkpoint.errors import StateFormatError
from seatunnel_core.checkpoint.split import Committable, Split, WorkUnit
from seatunnel_core.checkpoint.state import HeldUnit, SinkState, SourceState, TaskState, VertexStates
from seatunnel_core.errors import StoredValueError
from seatunnel_storage_api.state import CheckpointRef

FORMAT = 1
VERTEX_VERSION = 1

Json = Mapping[str, Any]


def encode(states: VertexStates) -> bytes:
    """The canonical bytes of ``states``.

    Raises:
        StateFormatError: a split or a committable carries something that is not JSON.
    """
    vertices = {
        **{f"source {name}": _versioned(_source_json(state)) for name, state in states.sources.items()},
        **{f"task {name}": _versioned(_task_json(state)) for name, state in states.tasks.items()},
        **{f"sink {name}": _versioned(_sink_json(state)) for name, state in states.sinks.items()},
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
    """The states that ``encode`` was given. Whatever the bytes are, the result is one that the vertices can go on from.

    Raises:
        StateFormatError: the bytes are not a state, or one of a newer version.
    """
    try:
        document = stored.parse(encoded)
        _require_version(document, "format", FORMAT, "the state")
        states: dict[str, dict[str, Any]] = {"source": {}, "task": {}, "sink": {}}
        retracting = _read_ref(stored.member(document, "retracting")) if "retracting" in document else None
        for vertex, versioned in stored.below(document, "vertices").items():
            kind, _, name = vertex.partition(" ")
            if kind not in _READERS:
                raise StateFormatError(f"the stored state has a vertex of an unknown kind: {ascii(vertex)[:60]}")
            _require_version(versioned, "version", VERTEX_VERSION, f"the state of {ascii(vertex)[:60]}")
            states[kind][name] = _READERS[kind](stored.member(versioned, "state"))
    except StoredValueError as error:
        raise StateFormatError(f"the stored state is not one that this version wrote ({error})") from error
    return VertexStates(sources=states["source"], tasks=states["task"], sinks=states["sink"], retracting=retracting)


def _require_version(block: Json, key: str, newest: int, what: str) -> None:
    found = stored.number(block, key)
    if found != newest:
        raise StateFormatError(f"{what} has version {found}; this version of the engine reads {newest}: upgrade it")


def _versioned(state: Json) -> Json:
    return {"version": VERTEX_VERSION, "state": state}


def _source_json(state: SourceState) -> Json:
    """A bounded source is written as it was before there were others."""
    written: dict[str, Any] = {"attachment": state.attachment, "cursor": state.cursor, "total": state.total}
    if state.memory is not None:
        written |= {"waiting": [_split_json(split) for split in state.waiting], "memory": dict(state.memory)}
    return written


def _split_json(split: Split) -> Json:
    return {
        "index": split.index,
        "weight_bytes": split.weight_bytes,
        "rows": split.rows,
        "body": dict(split.body),
    }


def _committable_json(committable: Committable) -> Json:
    return _table_rows_json(committable.table_rows) | {
        "id": committable.id,
        "epoch": committable.epoch,
        "unit": committable.unit,
        "source": committable.source,
        "rows": committable.rows,
        "bytes": committable.bytes,
        "body": dict(committable.body),
    }


def _table_rows_json(table_rows: Mapping[str, int]) -> dict[str, Any]:
    """They stand there only where a sink counts them, so that other states are as they were before."""
    return {"table_rows": dict(table_rows)} if table_rows else {}


def _held_json(held: HeldUnit) -> Json:
    committables = held.committables
    return {
        "number": held.unit.number,
        "splits": [_split_json(split) for split in held.unit.splits],
        "committables": None
        if committables is None
        else {sink: _committable_json(committable) for sink, committable in committables.items()},
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
    return _table_rows_json(state.table_rows) | {
        "save_mode_pending": state.save_mode_pending,
        "uncommitted": [_committable_json(committable) for committable in state.uncommitted],
        "rows_committed": state.rows_committed,
        "bytes_committed": state.bytes_committed,
    }


def _read_ref(ref: Json) -> CheckpointRef:
    return CheckpointRef(stored.number(ref, "epoch"), stored.number(ref, "checkpoint_id"))


def _read_source(state: Json) -> SourceState:
    """A source has begun when its enumeration is frozen, and then it stands at one of its splits or behind the last."""
    if stored.member(state, "attachment") is None:
        if stored.number(state, "cursor") or stored.member(state, "total") is not None:
            raise StateFormatError(
                "the stored state of a source has a position, and no enumeration to which it belongs"
            )
        return SourceState()
    attachment, total = stored.text(state, "attachment"), stored.number(state, "total")
    if "memory" not in state:
        return SourceState(attachment=attachment, cursor=stored.number(state, "cursor", most=total), total=total)
    cursor = stored.number(state, "cursor")
    waiting = tuple(map(_read_split, stored.items(state, "waiting")))
    first = max(cursor, total)
    if [split.index for split in waiting] != list(range(first, first + len(waiting))):
        raise StateFormatError(f"the splits that wait to be emitted are not numbered from {first} without gaps")
    memory = stored.below(state, "memory")
    return SourceState(attachment=attachment, cursor=cursor, total=total, waiting=waiting, memory=memory)


def _read_split(split: Json) -> Split:
    return Split(
        index=stored.number(split, "index"),
        weight_bytes=stored.number(split, "weight_bytes"),
        rows=stored.number(split, "rows"),
        body=stored.below(split, "body"),
    )


def _read_committable(committable: Json) -> Committable:
    return Committable(
        id=stored.text(committable, "id"),
        epoch=stored.number(committable, "epoch"),
        unit=stored.number(committable, "unit"),
        source=stored.text(committable, "source"),
        rows=stored.number(committable, "rows"),
        bytes=stored.number(committable, "bytes"),
        body=stored.below(committable, "body"),
        table_rows=_read_table_rows(committable),
    )


def _read_table_rows(block: Json) -> dict[str, int]:
    if "table_rows" not in block:
        return {}
    counted = stored.below(block, "table_rows")
    return {table: stored.number(counted, table) for table in counted}


def _read_held(held: Json) -> HeldUnit:
    unit = WorkUnit(
        number=stored.number(held, "number", least=1), splits=tuple(map(_read_split, stored.items(held, "splits")))
    )
    if stored.member(held, "committables") is None:
        return HeldUnit(unit=unit)
    committables = stored.below(held, "committables")
    return HeldUnit(
        unit=unit, committables={sink: _read_committable(committable) for sink, committable in committables.items()}
    )


def _read_task(state: Json) -> TaskState:
    """Units are numbered in the order in which they were drawn, and the next one is drawn behind them all (R8)."""
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
    """Commits are recorded by the committable's id, so that two of one id would count as one (R1)."""
    uncommitted = tuple(map(_read_committable, stored.items(state, "uncommitted")))
    if len({committable.id for committable in uncommitted}) < len(uncommitted):
        raise StateFormatError("the stored state of a sink names one committable twice")
    return SinkState(
        save_mode_pending=stored.flag(state, "save_mode_pending"),
        uncommitted=uncommitted,
        rows_committed=stored.number(state, "rows_committed"),
        bytes_committed=stored.number(state, "bytes_committed"),
        table_rows=_read_table_rows(state),
    )


_READERS: dict[str, Callable[[Json], Any]] = {"source": _read_source, "task": _read_task, "sink": _read_sink}
