"""``seatunnel state``: the positions up to which incremental jobs have read their sources."""

import json
from collections.abc import Callable
from typing import Any

from attrs import evolve

from seatunnel_core.claiming.alone import working_process
from seatunnel_core.claiming.increments import acknowledged, all_states, load, put
from seatunnel_core.cli.command import DONE
from seatunnel_core.cli.state.arguments import StateArguments
from seatunnel_core.cli.terminal.text import table
from seatunnel_core.errors import UsageError
from seatunnel_core.inspector.reference import StorageReference, title
from seatunnel_core.job.increment_state import IncrementState, SourceState
from seatunnel_core.work.window import Cursor
from seatunnel_storage_api.errors import ManifestConflictError, StorageUsageError
from seatunnel_storage_api.storage import CheckpointStorage


def state(arguments: StateArguments) -> int:
    """Run a verb and return the exit code."""
    reference = StorageReference(storage=arguments.storage, engine_file=arguments.engine_config)
    try:
        with reference.open(to_remove=arguments.verb != "show") as storage:
            _VERBS[arguments.verb](arguments, storage)
    except StorageUsageError as error:
        raise UsageError(str(error)) from error
    except ManifestConflictError as error:
        raise UsageError(
            "A job of this name has just started or ended. Check the state with seatunnel state show"
        ) from error
    return DONE


def _show(arguments: StateArguments, storage: CheckpointStorage) -> None:
    found = list(all_states(storage)) if arguments.name is None else [_known(storage, arguments.name)]
    states = [(each, acknowledged(storage, each)) for each in found]
    if arguments.json:
        records = [_record(each, now) for each, now in states]
        print(json.dumps({"storage": title(storage), "states": records}, indent=2))
        return
    print(f"Storage: {title(storage)}\n")
    rows: list[tuple[str, ...]] = [("name", "source", "column", "read up to", "again from", "last job", "which")]
    rows += [row for each, now in states for row in _rows(each, now)]
    print(table(rows) if len(rows) > 1 else "No incremental job has started yet.")


def _rows(found: IncrementState, now: IncrementState | None) -> list[tuple[str, ...]]:
    job = (found.job_id or "-", "-" if found.job_id is None else "has ended" if now is not None else "has not ended")
    sources = (now or found).sources.items()
    if not sources:
        return [(found.name, "-", "-", "from the beginning", "-", *job)]
    rows: list[tuple[str, ...]] = []
    for source, each in sources:
        cursor, column = each.cursor, (each.reads or {}).get("column", "-")
        value = ("none", "-") if cursor is None else (cursor.value, cursor.since or "-")
        rows.append((found.name, source, column, *value, *job))
    return rows


def _record(found: IncrementState, now: IncrementState | None) -> dict[str, Any]:
    return {
        "name": found.name,
        "job": found.job_id,
        "ended": now is not None,
        "sources": {
            name: {
                "reads": None if each.reads is None else dict(each.reads),
                "value": None if each.cursor is None else each.cursor.value,
                "since": None if each.cursor is None else each.cursor.since,
                "rows_since": 0 if each.cursor is None else len(each.cursor.delivered),
            }
            for name, each in (now or found).sources.items()
        },
    }


def _set(arguments: StateArguments, storage: CheckpointStorage) -> None:
    assert arguments.name is not None
    found = load(storage, arguments.name)
    now = acknowledged(storage, found)
    if now is None:
        raise UsageError(
            f"The job {found.job_id} has not ended, and it reads the rows after the old value: first resume that "
            f"job with -r {found.job_id}, or discard the state with seatunnel state reset {arguments.name}"
        )
    source = arguments.source or _only(now)
    cursor = SourceState(reads=None, cursor=Cursor(value=arguments.value))
    put(storage, evolve(now, sources={**now.sources, source: cursor}))
    print(f"The next job of {arguments.name} reads the rows of {source} after {arguments.value}.")


def _reset(arguments: StateArguments, storage: CheckpointStorage) -> None:
    assert arguments.name is not None
    found = _known(storage, arguments.name)
    if not found.is_done and found.job_id is not None:
        pid = working_process(storage, found.job_id)
        if pid is not None:
            raise UsageError(
                f"The job {found.job_id} runs in process {pid}. Stop it first, with seatunnel -can {found.job_id}"
            )
    put(storage, IncrementState(name=found.name, version=found.version))
    print(f"The next job of {arguments.name} reads everything. Rows that earlier jobs have written are kept.")


def _known(storage: CheckpointStorage, name: str) -> IncrementState:
    found = load(storage, name)
    if not found.version:
        known = ", ".join(each.name for each in all_states(storage)) or "none"
        raise UsageError(f"There is no state {name!r} in {title(storage)}; existing states: {known}")
    return found


def _only(found: IncrementState) -> str:
    if len(found.sources) != 1:
        known = ", ".join(found.sources) or "none yet"
        raise UsageError(
            f"Specify a source of {found.name} (known: {known}): run seatunnel state set {found.name} SOURCE VALUE"
        )
    return next(iter(found.sources))


_VERBS: dict[str, Callable[[StateArguments, CheckpointStorage], None]] = {"show": _show, "set": _set, "reset": _reset}
