"""Content of a checkpoint by vertex, as text and as JSON values."""

import json
import os
from collections.abc import Mapping, Sequence
from itertools import pairwise

from attrs import evolve, field, frozen

from seatunnel_core.checkpoint.errors import StateFormatError
from seatunnel_core.checkpoint.state import codec
from seatunnel_core.checkpoint.state.enumeration import document_of, splits_of
from seatunnel_core.checkpoint.state.vertex_state import (
    HeldUnit,
    SinkState,
    SourceState,
    TaskState,
    VertexStates,
)
from seatunnel_core.config.job_file import Kind
from seatunnel_core.connectors.filesystems.staged_name import staging_folder
from seatunnel_core.errors import UsageError
from seatunnel_core.inspector.survey import JobSurvey, PipelineSurvey
from seatunnel_core.quantity import pick
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.parts import named_parts
from seatunnel_core.work.split import Split
from seatunnel_storage_api.errors import AttachmentNotFoundError, CheckpointCorruptedError, UnsupportedFormatError
from seatunnel_storage_api.state import CheckpointInfo, PipelineState
from seatunnel_storage_api.storage import CheckpointStorage

Scalar = int | str | bool | None

_LONGEST_TEXT = 120


@frozen(kw_only=True)
class Part:
    """Part of a vertex state: a unit in flight or a committable."""

    words: str
    details: tuple[str, ...] = ()
    """Additional lines, such as the staged files of a committable with their targets."""


@frozen(kw_only=True)
class VertexContent:
    """Content of the state of one vertex."""

    kind: str
    """Kind of the vertex: ``source``, ``task`` or ``sink``."""

    name: str
    words: tuple[str, ...]
    """Description for users, one sentence per line."""

    facts: Mapping[str, Scalar]
    """Values by name, for programs."""

    parts: Mapping[str, Part] = field(factory=dict)
    """Parts by name, such as ``unit 7`` or ``committable 0-100000-7``."""

    @property
    def title(self) -> str:
        """Kind and name, for display."""
        return f"{self.kind} {self.name}"


@frozen(kw_only=True)
class CheckpointContent:
    """Content of one checkpoint."""

    info: CheckpointInfo
    live: bool
    states_bytes: int
    vertices: tuple[VertexContent, ...]


def content_of(
    storage: CheckpointStorage, job: JobSurvey, pipeline: PipelineSurvey, info: CheckpointInfo
) -> CheckpointContent:
    """Read a checkpoint with its enumerations, and return its content as a restore would use it.

    Raises:
        CheckpointCorruptedError: The checkpoint is damaged.
        UnsupportedFormatError: A newer version of the storage wrote it.
        StateFormatError: Another version of the engine wrote it.
        UsageError: The checkpoint was removed in the meantime.
    """
    state = loaded(storage, info)
    states = codec.decode(state.states)
    if job.is_published(info):
        states = states.without_staged()
    folders = {
        name: seat.targets[-1] for name, seat in job.assignments(Kind.SINK, pipeline.number).items() if seat.targets
    }
    vertices = [
        *(_source(storage, job.job_id, name, source) for name, source in sorted(states.sources.items())),
        *(_task(name, task, info, folders) for name, task in sorted(states.tasks.items())),
        *(_sink(name, sink, info, folders.get(name)) for name, sink in sorted(states.sinks.items())),
    ]
    return CheckpointContent(
        info=info, live=pipeline.is_live(info), states_bytes=len(state.states), vertices=tuple(vertices)
    )


def loaded(storage: CheckpointStorage, info: CheckpointInfo) -> PipelineState:
    """Return the stored checkpoint; raise ``UsageError`` if it was removed in the meantime."""
    state = storage.load(info)
    if state is None:
        raise UsageError(
            f"checkpoint {info.ref} of pipeline {info.pipeline_id} was removed in the meantime: list "
            "the checkpoints again"
        )
    return state


def attachments_of(states: VertexStates) -> frozenset[str]:
    """Return the digests of the enumerations and source cursors that the states refer to."""
    enumerations = (source.attachment for source in states.sources.values() if source.attachment is not None)
    parts = (digest for source in states.sources.values() for digest in named_parts(source.memory))
    return frozenset((*enumerations, *parts))


# -- sources ----------------------------------------------------------------------------------------------------------


def _source(storage: CheckpointStorage, job_id: str, name: str, state: SourceState) -> VertexContent:
    facts = {"emitted": state.cursor, "total": state.total, "attachment": state.attachment}
    if state.attachment is None:
        words = ["has not been enumerated yet"]
    elif state.memory is not None:
        remembered = len(json.dumps(state.memory))
        facts |= {"waiting": len(state.waiting), "remembered_bytes": remembered}
        words = [
            f"has emitted {pick(state.cursor, 'split')} and is unbounded",
            f"has a cursor of {pick(remembered, 'byte')}",
        ]
        if state.waiting:
            words.append(f"continues with split {state.cursor}: {split_text(state.waiting[0])}")
    elif state.total == state.cursor:
        words = [f"has emitted all of its {pick(state.cursor, 'split')}"]
    else:
        left = "" if state.total is None else f" of {state.total:,}, {state.total - state.cursor:,} left"
        words = [f"has emitted {pick(state.cursor, 'split')}{left}"]
    if state.attachment is not None and (state.total is None or state.cursor < state.total):
        words.append(_next_split(storage, job_id, state.attachment, state.cursor))
    return VertexContent(kind="source", name=name, words=tuple(words), facts=facts)


def _next_split(storage: CheckpointStorage, job_id: str, attachment: str, cursor: int) -> str:
    try:
        splits = splits_of(document_of(storage.get_attachment(job_id, attachment)))
    except (AttachmentNotFoundError, CheckpointCorruptedError, UnsupportedFormatError, StateFormatError) as error:
        return f"its enumeration cannot be read, so the pipeline cannot be restored: {error}"
    if cursor >= len(splits):
        return (
            f"its enumeration has only {pick(len(splits), 'split')}, but its state has already reached split {cursor}"
        )
    return f"continues with split {cursor}: {split_text(splits[cursor])}"


def split_text(split: Split) -> str:
    """Describe a split, such as ``/data/a.csv, bytes 0 to 1,048,576``; if its form is unknown, as truncated JSON."""
    body = split.body
    match body:
        case {"path": str(path), "start": int(start), "end": int(end)}:
            return f"{path}, bytes {start:,} to {end:,}"
        case {"path": str(path), "groups": [*groups]}:
            return f"{path}, {pick(len(groups), 'row group')}"
        case {"start": int(start), "rows": int(rows)}:
            return f"{pick(rows, 'row')} from number {start:,}"
        case {"table": str(table), "split": Mapping() as own} if "split" not in own:
            return f"table {table}: {split_text(evolve(split, body=own))}"
    return _short(json.dumps(dict(body), ensure_ascii=False))


# -- tasks ------------------------------------------------------------------------------------------------------------


def _task(name: str, state: TaskState, info: CheckpointInfo, folders: Mapping[str, str]) -> VertexContent:
    skipped = f", {pick(state.rows_skipped, 'row')} skipped" if state.rows_skipped else ""
    words = [
        f"{pick(state.units_done, 'unit')} done: {pick(state.rows_read, 'row')} read, "
        f"{pick(state.rows_written, 'row')} staged{skipped}",
        f"{pick(len(state.units), 'unit')} in flight" if state.units else "nothing is in flight",
    ]
    facts: dict[str, Scalar] = {
        "units_done": state.units_done,
        "units_in_flight": len(state.units),
        "next_unit": state.next_unit,
        "splits_done": state.splits_done,
        "rows_read": state.rows_read,
        "bytes_read": state.bytes_read,
        "rows_staged": state.rows_written,
        "rows_skipped": state.rows_skipped,
    }
    parts = {f"unit {held.unit.number}": _held(held, info, folders) for held in state.units}
    return VertexContent(kind="task", name=name, words=tuple(words), facts=facts, parts=parts)


def _held(held: HeldUnit, info: CheckpointInfo, folders: Mapping[str, str]) -> Part:
    splits = held.unit.splits
    numbers = _span([split.index for split in splits])
    which = f"split {numbers} ({split_text(splits[0])})" if len(splits) == 1 else f"splits {numbers}"
    what = f"{which}, about {pick(held.unit.rows, 'row')}"
    if held.committables is None:
        return Part(words=f"{what}; runs again")
    details = [
        line
        for sink, committable in sorted(held.committables.items())
        for line in (f"for {sink}: {_staged(committable)}", *_files(committable, info, folders.get(sink)))
    ]
    return Part(words=f"{what}; finished, waiting for earlier units", details=tuple(details))


# -- sinks ------------------------------------------------------------------------------------------------------------


def _sink(name: str, state: SinkState, info: CheckpointInfo, folder: str | None) -> VertexContent:
    waiting = state.uncommitted
    words = [f"{pick(state.rows_committed, 'row')} committed, {state.bytes_committed:,} bytes"]
    if waiting:
        rows = sum(committable.rows for committable in waiting)
        words.append(f"{pick(len(waiting), 'committable')} with {pick(rows, 'row')} pending commit")
    else:
        words.append("nothing is pending commit")
    if state.save_mode_pending:
        words.append("data_save_mode has not been applied yet")
    facts: dict[str, Scalar] = {
        "rows_committed": state.rows_committed,
        "bytes_committed": state.bytes_committed,
        "uncommitted": len(waiting),
        "save_mode_pending": state.save_mode_pending,
        "target": folder,
    }
    parts = {
        f"committable {each.id}": Part(words=_staged(each), details=_files(each, info, folder)) for each in waiting
    }
    return VertexContent(kind="sink", name=name, words=tuple(words), facts=facts, parts=parts)


def _staged(committable: Committable) -> str:
    return (
        f"unit {committable.unit} of {committable.source}, epoch {committable.epoch}: "
        f"{pick(committable.rows, 'row')}, {committable.bytes:,} bytes"
    )


def _files(committable: Committable, info: CheckpointInfo, folder: str | None) -> tuple[str, ...]:
    """Return the staged files with their targets if a file sink staged the committable, otherwise its body."""
    files = committable.body.get("files")
    if not _names_files(files):
        return (_short(json.dumps(dict(committable.body), ensure_ascii=False)),)
    root = folder or "<target>"
    staging = staging_folder(root, info.job_id, info.pipeline_id, committable.epoch)
    lines = []
    for name, below in files or ():
        lines.append(_file(os.path.join(staging, name), os.path.join(root, below, name), known=folder is not None))
    return tuple(lines)


def _file(staged: str, target: str, *, known: bool) -> str:
    if not known or os.path.lexists(staged):
        return f"staged: {staged}, becomes {target}"
    if os.path.lexists(target):
        return f"published: {target}"
    return (
        f"not found: neither {staged} nor {target} exists; the file was published and removed later, or it is on the "
        "disk of another host"
    )


def _names_files(files: object) -> bool:
    return isinstance(files, Sequence) and all(
        isinstance(each, Sequence) and len(each) == 2 and all(isinstance(part, str) for part in each) for each in files
    )


def _span(numbers: Sequence[int]) -> str:
    """Format numbers as ``4``, ``4 to 9``, or ``4, 7, 9`` if there are gaps. A long list is truncated."""
    if len(numbers) > 1 and all(after == before + 1 for before, after in pairwise(numbers)):
        return f"{numbers[0]:,} to {numbers[-1]:,}"
    shown = ", ".join(f"{number:,}" for number in numbers[:5])
    return f"{shown} and {len(numbers) - 5:,} more" if len(numbers) > 5 else shown


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…"
